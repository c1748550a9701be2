import CLinux
import Glibc

/// Whether an address is one of this machine's.
enum AddressOwnership: Sendable, Equatable {
    case own, foreign
    /// The system does not say; the number is its errno.
    case unknown(CInt)

    /// Asks the kernel where a packet to the address would go (rtnetlink(7)): some microseconds, and right at the
    /// moment, whatever addresses, routes and rules the machine has got since the start.
    init(of address: AddressBytes) {
        let answer = address.withKernelForm { linux_is_delivered_here($0.baseAddress, $0.count) }
        switch answer {
        case 0: self = .foreign
        case 1: self = .own
        default: self = .unknown(-answer)
        }
    }
}
