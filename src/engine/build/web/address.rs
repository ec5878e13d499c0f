//! Which addresses pages may be fetched from: public ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::domain::build::Private;
use crate::domain::text::short;
use crate::engine::build::web::{MOST_ADDRESS, Skip};

/// Whether an address belongs to the public internet: not to this machine, a private network, a link, a test range or
/// a group, nor an IPv6 form that leads to such an IPv4 address (RFC 6890 and its updates).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        // Shared by carriers, protocol assignments, 6to4 relays, benchmarks, reserved.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // Mapped and translated IPv4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(v4(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Unspecified, loopback and the old compatible form.
        [0, 0, 0, 0, 0, 0, _, _] => false,
        // Discard only, local translation, Teredo and its neighbours, documentation.
        [0x100, ..] | [0x64, 0xff9b, ..] | [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] => false,
        [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is given out; unique local, link local, site local and groups are not in it.
        [first, ..] => (first & 0xe000) == 0x2000,
    }
}

/// Whether an address may be read.
fn admits(private: &Private, address: IpAddr) -> bool {
    match private {
        Private::Open => true,
        Private::Closed => is_public(address),
        // An address and its mapped form are one.
        Private::These(these) => {
            is_public(address)
                || these
                    .iter()
                    .any(|one| one.to_canonical() == address.to_canonical())
        }
    }
}

/// What the manifest says of the addresses that may be read.
pub(super) fn describe(private: &Private) -> serde_json::Value {
    match private {
        Private::Closed => serde_json::json!(false),
        Private::Open => serde_json::json!(true),
        Private::These(these) => {
            let these: Vec<String> = these.iter().map(IpAddr::to_string).collect();
            serde_json::json!(these)
        }
    }
}

/// Refuses an address before anything is sent: another scheme, a name and password, an IP address that is not public.
pub(super) fn check(url: &Url, private: &Private) -> Result<(), Skip> {
    if url.as_str().len() > MOST_ADDRESS {
        return Err(Skip::lasting(format!(
            "the address has more than {MOST_ADDRESS} characters"
        )));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Skip::lasting(format!(
            "addresses of the kind \"{}:\" are not read",
            short(url.scheme())
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Skip::lasting("the address holds a name or a password"));
    }
    let literal = match url.host() {
        None => return Err(Skip::lasting("the address has no host")),
        Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(url::Host::Domain(_)) => None,
    };
    match literal {
        Some(address) if !admits(private, address) => Err(Skip::lasting(match is_link(address) {
            true => {
                format!("{address} is no public address, but one for this machine's own services")
            }
            false => format!(
                "{address} is no public address; --allow-address {address} reads it, --allow-private all such"
            ),
        })),
        _ => Ok(()),
    }
}

/// Whether an address is for one link only, where clouds keep a machine's credentials: nobody should be told how to read it.
fn is_link(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            let metadata = [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254];
            address.is_unicast_link_local() || address.segments() == metadata
        }
    }
}

/// What a failed resolution says of a name that leads to private addresses only.
pub(super) const NOT_PUBLIC: &str =
    "has no public address; --allow-address IP reads one such, --allow-private all";

/// Resolves names to public addresses only, and to those that were opened. The connection goes to what this gives, so a name can't be one thing when
/// it is checked and another when it is used.
pub(super) struct Admitted(pub Private);

impl Resolve for Admitted {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.0.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let asked = (host.clone(), 0);
            // The system's resolver waits.
            let found = tokio::task::spawn_blocking(move || asked.to_socket_addrs()).await??;
            let admitted: Vec<SocketAddr> =
                found.filter(|found| admits(&private, found.ip())).collect();
            match admitted.is_empty() {
                true => Err(format!("{host} {NOT_PUBLIC}").into()),
                false => Ok(Box::new(admitted.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn private_and_odd_addresses_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn public_addresses_are() {
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "192.0.1.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
            "2002:808:808::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn addresses_are_refused_before_anything_is_sent() {
        let why = |address: &str, open| {
            let private = if open { Private::Open } else { Private::Closed };
            check(&Url::parse(address).unwrap(), &private).map_err(|skip| skip.reason)
        };
        let one = Private::These(vec!["127.0.0.1".parse().unwrap()]);
        let only = |address: &str| check(&Url::parse(address).unwrap(), &one).is_ok();
        assert!(only("http://127.0.0.1/x") && only("http://[::ffff:127.0.0.1]/"));
        assert!(only("http://1.1.1.1/"));
        assert!(!only("http://127.0.0.2/x") && !only("http://[::1]/"));
        for metadata in [
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[fe80::1]",
            "[fd00:ec2::254]",
        ] {
            let said = why(&format!("http://{metadata}/latest"), false).unwrap_err();
            assert!(!said.contains("--allow"), "{metadata}: {said}");
        }
        assert!(
            why("http://127.0.0.1/x", false)
                .unwrap_err()
                .contains("no public address")
        );
        // Other ways to write the same.
        assert!(why("http://2130706433/", false).is_err());
        assert!(why("http://0x7f.1/", false).is_err());
        assert!(why("http://[::ffff:127.0.0.1]/", false).is_err());
        assert_eq!(why("http://127.0.0.1/x", true), Ok(()));
        assert!(
            why("file:///etc/passwd", true)
                .unwrap_err()
                .contains("\"file:\"")
        );
        assert!(why("http://user:secret@example.org/", true).is_err());
        assert_eq!(why("https://example.org/", false), Ok(()));
    }
}
