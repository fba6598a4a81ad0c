//! Which addresses are not of the public Internet.
//!
//! From the registries of special-purpose addresses (IANA, RFC 6890 and its successors). Of IPv6 only `2000::/3` is given out as
//! global unicast, so everything beside it is refused, known or not. Forms of IPv6 that carry an IPv4 address are judged by that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Network;

/// IPv4, and of what use.
const V4: [(Network, &str); 17] = [
    (Network::v4(0, 0, 0, 0, 8), "this network"),
    (Network::v4(10, 0, 0, 0, 8), "private"),
    (Network::v4(100, 64, 0, 0, 10), "shared by a provider's customers"),
    (Network::v4(127, 0, 0, 0, 8), "loopback"),
    // With 169.254.169.254, where clouds give out credentials.
    (Network::v4(169, 254, 0, 0, 16), "link-local"),
    (Network::v4(172, 16, 0, 0, 12), "private"),
    (Network::v4(192, 0, 0, 0, 24), "for protocols"),
    (Network::v4(192, 0, 2, 0, 24), "for documentation"),
    (Network::v4(192, 88, 99, 0, 24), "relays of 6to4"),
    (Network::v4(192, 168, 0, 0, 16), "private"),
    (Network::v4(198, 18, 0, 0, 15), "for benchmarks"),
    (Network::v4(198, 51, 100, 0, 24), "for documentation"),
    (Network::v4(203, 0, 113, 0, 24), "for documentation"),
    (Network::v4(224, 0, 0, 0, 4), "multicast"),
    (Network::v4(255, 255, 255, 255, 32), "broadcast"),
    (Network::v4(240, 0, 0, 0, 4), "reserved"),
    // Not in the registries: Azure answers there from inside each of its machines.
    (Network::v4(168, 63, 129, 16, 32), "a cloud's own"),
];

/// Names for the parts of IPv6 beside `2000::/3`, and exceptions within.
const V6: [(Network, &str); 15] = [
    (Network::v6(0x64, 0xff9b, 1, 0, 48), "translated to a local IPv4 network"),
    (Network::v6(0x100, 0, 0, 0, 64), "discarded"),
    (Network::v6(0x100, 0, 0, 1, 64), "a dummy"),
    (Network::v6(0x2001, 0, 0, 0, 32), "tunnelled by Teredo"),
    (Network::v6(0x2001, 2, 0, 0, 48), "for benchmarks"),
    (Network::v6(0x2001, 0, 0, 0, 23), "for protocols"),
    (Network::v6(0x2001, 0xdb8, 0, 0, 32), "for documentation"),
    (Network::v6(0x2002, 0, 0, 0, 16), "tunnelled by 6to4"),
    (Network::v6(0x3fff, 0, 0, 0, 20), "for documentation"),
    (Network::v6(0x5f00, 0, 0, 0, 16), "for segment routing"),
    // With fd00:ec2::254, another place of a cloud's credentials.
    (Network::v6(0xfc00, 0, 0, 0, 7), "private"),
    (Network::v6(0xfe80, 0, 0, 0, 10), "link-local"),
    (Network::v6(0xfec0, 0, 0, 0, 10), "site-local"),
    (Network::v6(0xff00, 0, 0, 0, 8), "multicast"),
    (Network::v6(0, 0, 0, 0, 8), "reserved"),
];

const GLOBAL: Network = Network::v6(0x2000, 0, 0, 0, 3);

/// What `address` is used for, if it is not a public one: `loopback`, `private`, `link-local`…; `None` for an address of the public Internet.
///
/// IPv4 addresses inside IPv6 ones are looked at, in the mapped form (`::ffff:127.0.0.1`) and as translated by NAT64 (`64:ff9b::127.0.0.1`).
/// The tunnels 6to4 and Teredo, which carry one too, are never public: they are out of use, and of use to attackers.
///
/// ```
/// use tinymcp::guard::special_use;
///
/// assert_eq!(special_use("169.254.169.254".parse()?), Some("link-local"));
/// assert_eq!(special_use("::ffff:10.0.0.1".parse()?), Some("private"));
/// assert_eq!(special_use("2606:4700:4700::1111".parse()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn special_use(address: IpAddr) -> Option<&'static str> {
    let found = |table: &[(Network, &'static str)]| {
        table.iter().find(|(network, _)| network.contains(address)).map(|(_, name)| *name)
    };
    match address {
        IpAddr::V4(_) => found(&V4),
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => special_use(IpAddr::V4(v4)),
            None if v6.is_unspecified() => Some("this network"),
            None if v6.is_loopback() => Some("loopback"),
            None => found(&V6).or((!GLOBAL.contains(address)).then_some("reserved")),
        },
    }
}

/// The IPv4 address that is reached by way of an IPv6 one.
pub(super) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];
    let [a, b, c, d, e, f, high, low] = address.segments();
    if [a, b, c, d, e, f] != NAT64 {
        return address.to_ipv4_mapped();
    }
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_known_at_both_ends_of_each_range() {
        for (addresses, want) in [
            ("0.0.0.0 0.255.255.255 ::", Some("this network")),
            (
                "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
                Some("private"),
            ),
            ("100.64.0.0 100.100.100.200 100.127.255.255", Some("shared by a provider's customers")),
            ("127.0.0.0 127.0.0.1 127.255.255.255 ::1", Some("loopback")),
            ("169.254.0.0 169.254.169.254 169.254.255.255 fe80:: fe80::1 febf:ffff::1", Some("link-local")),
            ("192.0.0.0 192.0.0.192 192.0.0.255 2001:10::1 2001:1ff:ffff::", Some("for protocols")),
            (
                "192.0.2.1 198.51.100.255 203.0.113.0 2001:db8:: 2001:db8:ffff::1 3fff:fff::1",
                Some("for documentation"),
            ),
            ("192.88.99.1", Some("relays of 6to4")),
            ("198.18.0.0 198.19.255.255 2001:2::1", Some("for benchmarks")),
            ("224.0.0.0 239.255.255.255 233.252.0.1 ff00:: ff02::1 ffff::", Some("multicast")),
            (
                "240.0.0.0 255.255.255.254 4000::1 1000::1 ::2 ::127.0.0.1 ::8.8.8.8 64:ff9c::1",
                Some("reserved"),
            ),
            ("255.255.255.255", Some("broadcast")),
            ("168.63.129.16", Some("a cloud's own")),
            ("fc00:: fd00:ec2::254 fd20:ce::254 fdff:ffff::1", Some("private")),
            ("fec0::1 feff::1", Some("site-local")),
            ("2002:7f00:1:: 2002:808:808::1", Some("tunnelled by 6to4")),
            ("2001:0:7f00:1:: 2001::1", Some("tunnelled by Teredo")),
            ("64:ff9b:1::7f00:1 64:ff9b:1:ffff::8.8.8.8", Some("translated to a local IPv4 network")),
            ("100::1", Some("discarded")),
            ("::ffff:127.0.0.1 64:ff9b::127.0.0.1", Some("loopback")),
            ("::ffff:10.1.2.3 ::ffff:a01:203 64:ff9b::a01:203", Some("private")),
            ("64:ff9b::169.254.169.254 ::ffff:169.254.169.254", Some("link-local")),
            (
                "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 \
                 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 \
                 198.20.0.0 223.255.255.255 168.63.129.17 2606:4700::1111 2001:200::1 2001:4860:4860::8888 2001:db7::1 \
                 2003::1 3ffe::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8",
                None,
            ),
        ] {
            for address in addresses.split_whitespace() {
                let got = special_use(address.parse().expect(address));
                assert_eq!(got, want, "{address}");
            }
        }
    }
}
