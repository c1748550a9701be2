import Glibc
import HTTP1
import NIOCore

extension ByteBuffer {
    /// Writes a decimal number that is not negative.
    mutating func writeDecimal(_ value: Int) { MessageWriter.writeDecimal(value, to: &self) }

    /// Writes a number with at least `width` digits, zeros in front.
    mutating func writeDecimal(_ value: Int, width: Int) {
        var bound = 10
        for _ in 1..<max(width, 1) {
            if value < bound { writeInteger(UInt8(ascii: "0")) }
            bound &*= 10
        }
        writeDecimal(value)
    }

    /// Writes tenths as a decimal number with one place: 31 is `3.1`.
    mutating func writeTenths(_ tenths: Int) {
        writeDecimal(tenths / 10)
        writeInteger(UInt8(ascii: "."))
        writeDecimal(tenths % 10)
    }

    /// Writes thousandths as a decimal number with three places.
    mutating func writeThousandths(_ thousandths: Int) {
        writeDecimal(thousandths / 1000)
        writeInteger(UInt8(ascii: "."))
        writeDecimal(thousandths % 1000, width: 3)
    }

    /// Writes a number of bytes for people: `812B`, `3.1kB`, `1.2MB`, decimal units.
    mutating func writeByteCount(_ count: Int) {
        switch count {
        case ..<1000:
            writeDecimal(count)
            writeStaticString("B")
        case ..<1_000_000:
            writeTenths(count / 100)
            writeStaticString("kB")
        case ..<1_000_000_000:
            writeTenths(count / 100_000)
            writeStaticString("MB")
        default:
            writeTenths(count / 100_000_000)
            writeStaticString("GB")
        }
    }

    mutating func writeHexByte(_ byte: UInt8) {
        let digits: StaticString = "0123456789abcdef"
        writeInteger(digits.utf8Start[Int(byte >> 4)])
        writeInteger(digits.utf8Start[Int(byte & 15)])
    }
}

/// The monotonic clock in nanoseconds (`clock_gettime`, CLOCK_MONOTONIC).
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}

/// The wall clock in nanoseconds since 1970 (`clock_gettime`, CLOCK_REALTIME).
func wallNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}

/// The wall clock as the log writes it; the broken-down time is kept for the second it belongs to.
struct WallClock {
    private var second: time_t = -1
    private var local = tm()
    private var universal = tm()

    private mutating func read() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        if now.tv_sec != second {
            second = now.tv_sec
            localtime_r(&second, &local)
            gmtime_r(&second, &universal)
        }
        return now.tv_nsec / 1_000_000
    }

    /// Writes `14:02:11.123`, local time.
    mutating func writeLocalTime(to buffer: inout ByteBuffer) {
        let milliseconds = read()
        buffer.writeDecimal(Int(local.tm_hour), width: 2)
        buffer.writeStaticString(":")
        buffer.writeDecimal(Int(local.tm_min), width: 2)
        buffer.writeStaticString(":")
        buffer.writeDecimal(Int(local.tm_sec), width: 2)
        buffer.writeStaticString(".")
        buffer.writeDecimal(milliseconds, width: 3)
    }

    /// Writes `2026-11-21T14:02:11.123Z` (RFC 3339).
    mutating func writeInternetTime(to buffer: inout ByteBuffer) {
        let milliseconds = read()
        buffer.writeDecimal(Int(universal.tm_year) &+ 1900, width: 4)
        buffer.writeStaticString("-")
        buffer.writeDecimal(Int(universal.tm_mon) &+ 1, width: 2)
        buffer.writeStaticString("-")
        buffer.writeDecimal(Int(universal.tm_mday), width: 2)
        buffer.writeStaticString("T")
        buffer.writeDecimal(Int(universal.tm_hour), width: 2)
        buffer.writeStaticString(":")
        buffer.writeDecimal(Int(universal.tm_min), width: 2)
        buffer.writeStaticString(":")
        buffer.writeDecimal(Int(universal.tm_sec), width: 2)
        buffer.writeStaticString(".")
        buffer.writeDecimal(milliseconds, width: 3)
        buffer.writeStaticString("Z")
    }
}
