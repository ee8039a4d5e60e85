// The recurrence and the gather of the benchmarks, written by hand: what the device can do.
//   nvcc -O3 -arch=native -o recurrence recurrence.cu && ./recurrence [N] [T]
// Prints JSON: milliseconds of one launch of each kernel, the median of many; under "dispatch" microseconds of the host.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t found = (call);                                                        \
        if (found != cudaSuccess) {                                                        \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(found));            \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

__device__ void add_over_block(float value, float *total) {
    __shared__ float parts[32];
    for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
        for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
        if (threadIdx.x == 0) atomicAdd(total, value);
    }
}

__global__ void forward(const float *x, float *y, const int *turns, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = *turns;
    float v = i < n ? x[i] : 0.0f;
    for (int k = 0; k < t; ++k) v = sinf(v) * 0.9f + 0.1f;
    add_over_block(i < n ? v : 0.0f, y);
}

// Slots interleaved over all lanes; with fewer lanes than elements, each goes on to further elements.
__global__ void reverse(const float *x, float *gx, const float *gy, const int *turns, float *heap, int n) {
    int lanes = gridDim.x * blockDim.x, lane = blockIdx.x * blockDim.x + threadIdx.x;
    int t = *turns;
    for (int i = lane; i < n; i += lanes) {
        float v = x[i];
        for (int k = 0; k < t; ++k) {
            heap[(size_t)k * lanes + lane] = v;
            v = sinf(v) * 0.9f + 0.1f;
        }
        float g = *gy;
        for (int k = t; k-- > 0;) g = g * 0.9f * cosf(heap[(size_t)k * lanes + lane]);
        gx[i] += g;
    }
}

__global__ void nop(float *x) { *x = 1.0f; }

__global__ void args(float *x, float v) { *x = v; }

// Rows of up to 16 products; the gradient is by both factors.
__global__ void gather(const float *x, const float *w, const int *degree, const int *column, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f, own = x[i];
    for (int j = 0; j < degree[i]; ++j) total += w[column[16 * i + j]] * own;
    y[i] = total;
}

__global__ void gather_reverse(const float *x, const float *w, const int *degree, const int *column, const float *gy,
                               float *gx, float *gw, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = gy[i], own = x[i], total = 0.0f;
    for (int j = 0; j < degree[i]; ++j) {
        int k = column[16 * i + j];
        total += w[k] * g;
        atomicAdd(&gw[k], own * g);
    }
    gx[i] += total;
}

// Microseconds of the host for a launch, the queue drained every 2,000.
template <class Launch> double dispatched(Launch launch) {
    std::vector<double> found;
    for (int k = 0; k < 15; ++k) {
        auto begin = std::chrono::steady_clock::now();
        for (int j = 0; j < 2000; ++j) launch();
        CHECK(cudaDeviceSynchronize());
        std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        found.push_back(took.count() / 2000);
    }
    std::sort(found.begin(), found.end());
    return found[found.size() / 2];
}

template <class T> T *on_device(const std::vector<T> &values) {
    T *made;
    CHECK(cudaMalloc(&made, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(made, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return made;
}

template <class Launch> float median(Launch launch) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int k = 0; k < 10; ++k) launch();
    std::vector<float> found;
    for (int k = 0; k < 50; ++k) {
        float ms;
        CHECK(cudaEventRecord(begin));
        for (int j = 0; j < 5; ++j) launch();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        found.push_back(ms / 5);
    }
    std::sort(found.begin(), found.end());
    CHECK(cudaGetLastError());
    return found[found.size() / 2];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20, t = argc > 2 ? std::atoi(argv[2]) : 64;
    float *x, *y, *gx, *gy, *heap;
    int *turns;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&gx, n * sizeof(float)));
    CHECK(cudaMalloc(&y, sizeof(float)));
    CHECK(cudaMalloc(&gy, sizeof(float)));
    CHECK(cudaMalloc(&turns, sizeof(int)));
    CHECK(cudaMalloc(&heap, (size_t)n * t * sizeof(float)));
    std::vector<float> start(n);
    for (int i = 0; i < n; ++i) start[i] = (i % 1000) / 1000.0f;
    float one = 1.0f;
    CHECK(cudaMemcpy(x, start.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(gy, &one, sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(turns, &t, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(y, 0, sizeof(float)));
    CHECK(cudaMemset(gx, 0, n * sizeof(float)));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int block = 128, all = (n + block - 1) / block;
    int some = std::min(all, device.multiProcessorCount * device.maxThreadsPerMultiProcessor / block);
    float f = median([&] { forward<<<all, block>>>(x, y, turns, n); });
    float r = median([&] { reverse<<<all, block>>>(x, gx, gy, turns, heap, n); });
    float s = median([&] { reverse<<<some, block>>>(x, gx, gy, turns, heap, n); });
    float z = median([&] { nop<<<1, 1>>>(y); });
    double dn = dispatched([&] { nop<<<1, 1>>>(y); }), da = dispatched([&] { args<<<1, 1>>>(y, 1.0f); });

    std::vector<int> degree(n), column((size_t)16 * n);
    for (int &d : degree) d = std::rand() % 17;
    for (int &c : column) c = (int)(((long long)std::rand() * 32768 + std::rand()) % n);
    float *w = on_device(start), *gw = on_device(std::vector<float>(n)), *gys = on_device(std::vector<float>(n, 1.0f));
    float *ys = on_device(start);
    int *degrees = on_device(degree), *columns = on_device(column);
    float gf = median([&] { gather<<<all, block>>>(x, w, degrees, columns, ys, n); });
    float gr = median([&] { gather_reverse<<<all, block>>>(x, w, degrees, columns, gys, gx, gw, n); });
    std::printf("{\"forward\": %.5f, \"reverse\": %.5f, \"reverse_resident\": %.5f, \"nop\": %.5f, ", f, r, s, z);
    std::printf("\"dispatch\": {\"nop\": %.3f, \"args\": %.3f}, ", dn, da);
    std::printf("\"gather\": {\"forward\": %.5f, \"reverse\": %.5f}}\n", gf, gr);
    return 0;
}
