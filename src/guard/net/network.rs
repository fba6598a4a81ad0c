//! [`Network`]: a range of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, `10.0.0.0/8` or `fd00::/8`, or a single one.
///
/// ```
/// use tinymcp::guard::Network;
///
/// let network: Network = "10.1.0.0/16".parse()?;
/// assert!(network.contains("10.1.2.3".parse()?));
/// assert!("10.1.2.3/16".parse::<Network>().is_err()); // which of the two was meant?
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    /// The first four groups of the address; the others are zero.
    pub(super) const fn v6(a: u16, b: u16, c: u16, d: u16, bits: u8) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), bits }
    }

    /// Whether `address` is in it. An IPv4 address is in no network of IPv6, whatever its form.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.leading_zeros() >= u32::from(self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.leading_zeros() >= u32::from(self.bits)
            }
            _ => false,
        }
    }
}

/// The one address.
impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| format!("{text:?} is no network"))?;
        let whole = Self::from(address);
        let Some(bits) = bits else { return Ok(whole) };
        let bits: u8 =
            bits.parse().ok().filter(|bits| *bits <= whole.bits).ok_or_else(|| {
                format!("{text:?} is no network: its length is a number up to {}", whole.bits)
            })?;
        let rest = match address {
            IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
            IpAddr::V6(address) => u128::from(address),
        };
        if rest.checked_shl(bits.into()).unwrap_or_default() != 0 {
            return Err(format!("{text:?} is no network: it has bits beyond its length"));
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_hold_their_own() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("172.16.0.0/12", "172.31.255.255", "172.32.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("192.168.1.6/31", "192.168.1.7", "192.168.1.5"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("::/0", "ffff::", "0.0.0.0"),
            ("fd00::/8", "fdff::1", "fc00::"),
            ("::1", "::1", "::2"),
        ] {
            let parsed: Network = network.parse().expect(network);
            assert!(parsed.contains(inside.parse().expect("an address")), "{network} {inside}");
            assert!(!parsed.contains(outside.parse().expect("an address")), "{network} {outside}");
        }
        for text in [
            "",
            "10",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "::/129",
            "10.0.0.1/8",
            "fd00::1/64",
            "010.0.0.0/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
