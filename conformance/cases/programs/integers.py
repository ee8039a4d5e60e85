"""Number theory and codes: sieves, powers, checksums, streams of bits."""

import zlib

from adstack.conformance.case import Run, case


@case(rules=["parallel.serial-inside", "control.while", "memory.map"])
def sieve_of_eratosthenes(qd):
    composite, count = qd.field(qd.i32, shape=200), qd.field(qd.i32, shape=())

    @qd.kernel
    def sieve():
        qd.loop_config(serialize=True)
        for p in range(2, 200):
            if composite[p] == 0:
                count[None] += 1
                n = p * p
                while n < 200:
                    composite[n] = 1
                    n += p

    marks = [int(n > 1 and any(n % d == 0 for d in range(2, n))) for n in range(200)]
    return Run(sieve, expect={composite: marks, count: 46})


@case(rules=["vector.products", "arith.mod"])
def fibonacci_numbers_by_powers_of_a_matrix(qd):
    out = qd.field(qd.i64, shape=6)
    modulus = 1_000_000_007

    @qd.kernel
    def k():
        for i in out:
            power = qd.Matrix([[1, 1], [1, 0]], qd.i64)
            result = qd.Matrix([[1, 0], [0, 1]], qd.i64)
            n = 10**i
            while n > 0:
                if n % 2 == 1:
                    result = result @ power % modulus
                power = power @ power % modulus
                n //= 2
            out[i] = result[0, 1]

    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, (a + b) % modulus
        return a

    return Run(k, expect={out: [fibonacci(10**i) for i in range(6)]})


@case(rules=["arith.bits", "arith.shift"])
def cyclic_redundancy_check(qd):
    """CRC-32 of a text, bit by bit, with the polynomial of zip files."""
    text = b"The quick brown fox jumps over the lazy dog"
    data = qd.field(qd.u8, shape=len(text))

    @qd.kernel
    def crc() -> qd.u32:
        value = ~qd.u32(0)
        qd.loop_config(serialize=True)
        for i in range(len(text)):
            value ^= qd.cast(data[i], qd.u32)
            for _ in range(8):
                low = value & 1
                value >>= 1
                if low != 0:
                    value ^= qd.u32(0xEDB88320)
        return ~value

    return Run(crc, given={data: list(text)}, returns=zlib.crc32(text))


@case(rules=["arith.shift", "arith.bits", "arith.wrap"], params={"bits": [32, 64]})
def streams_of_a_xorshift_generator(qd, bits):
    dtype, shifts = {32: (qd.u32, (13, 17, 5)), 64: (qd.u64, (13, 7, 17))}[bits]
    start, out = qd.field(dtype, shape=4), qd.field(dtype, shape=(4, 8))
    a, b, c = shifts

    @qd.kernel
    def k():
        for i in range(4):
            x = start[i]
            for j in range(8):
                x ^= x << a
                x ^= x >> b
                x ^= x << c
                out[i, j] = x

    def stream(x):
        for _ in range(8):
            x ^= (x << a) % 2**bits
            x ^= x >> b
            x ^= (x << c) % 2**bits
            yield x

    seeds = [2463534242 + i for i in range(4)]
    return Run(k, given={start: seeds}, expect={out: [list(stream(x)) for x in seeds]})


@case(rules=["arith.wrap", "types.int-to-int"], params={"n": [0, 1, 9, 64]})
def fowler_noll_vo_hash(qd, n):
    @qd.kernel
    def fnv(n: qd.i32) -> qd.u64:
        h = qd.u64(0xCBF29CE484222325)
        for _ in range(1):
            for i in range(n):
                h = (h ^ qd.cast(i * 37, qd.u8)) * qd.u64(0x100000001B3)
        return h

    h = 0xCBF29CE484222325
    for i in range(n):
        h = (h ^ i * 37 % 256) * 0x100000001B3 % 2**64
    return Run(fnv, args=(n,), returns=h)


@case(rules=["control.while", "arith.mod"])
def greatest_common_divisors_and_modular_inverses(qd):
    out = qd.field(qd.i64, shape=20)
    modulus = 2**31 - 1

    @qd.func
    def inverse(a):
        """By the extended algorithm of Euclid."""
        old, new = qd.i64(a), qd.i64(modulus)
        s, t = qd.i64(1), qd.i64(0)
        while new != 0:
            quotient = old // new
            old, new = new, old - quotient * new
            s, t = t, s - quotient * t
        return s % modulus

    @qd.kernel
    def k():
        for i in out:
            out[i] = inverse(i * i + 1)

    return Run(k, expect={out: [pow(i * i + 1, -1, modulus) for i in range(20)]})


@case(rules=["arith.mod", "arith.bits"], params={"modulus": [97, 65537, 2**31 - 1]})
def powers_modulo_a_prime(qd, modulus):
    out = qd.field(qd.i64, shape=16)

    @qd.kernel
    def k():
        for i in out:
            base, result = qd.cast(i + 2, qd.i64), qd.cast(1, qd.i64)
            e = 1000003 + i
            while e > 0:
                if e & 1 == 1:
                    result = result * base % modulus
                base = base * base % modulus
                e >>= 1
            out[i] = result

    return Run(k, expect={out: [pow(i + 2, 1000003 + i, modulus) for i in range(16)]})


@case(rules=["arith.floordiv", "arith.mod"])
def digits_of_numbers_in_many_bases(qd):
    sums = qd.field(qd.i32, shape=(10, 8))

    @qd.kernel
    def k():
        for i, j in sums:
            n = 123456789 * (i + 1) // 7
            while n > 0:
                sums[i, j] += n % (j + 2)
                n //= j + 2

    def digit_sum(n, base):
        return n % base + digit_sum(n // base, base) if n else 0

    # 123456789 * 10 is below 2^31
    return Run(k, expect={sums: [[digit_sum(123456789 * (i + 1) // 7, j + 2) for j in range(8)] for i in range(10)]})


@case(rules=["control.break", "control.while"])
def perfect_numbers(qd):
    found = qd.field(qd.i32, shape=500)

    @qd.kernel
    def k():
        for n in range(1, 500):
            total = 1 if n > 1 else 0
            d = 2
            while d * d <= n:
                if n % d == 0:
                    total += d
                    if d * d < n:
                        total += n // d
                d += 1
            found[n] = total == n

    return Run(k, expect={found: [int(n in (6, 28, 496)) for n in range(500)]})


@case(rules=["arith.popcount", "arith.bits"])
def gray_codes_differ_in_one_bit(qd):
    code, change = qd.field(qd.i32, shape=64), qd.field(qd.i32, shape=64)

    @qd.kernel
    def k():
        for i in code:
            code[i] = i ^ (i >> 1)
        for i in change:
            change[i] = qd.math.popcnt(code[i] ^ code[(i + 1) % 64])

    return Run(k, expect={change: 1, code: [i ^ i // 2 for i in range(64)]})
