"""What an address of a peer means: which machine it is, and whether that is this one."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Read an address; one of IPv4 that is written as IPv6 (``::ffff:127.0.0.1``) is one of IPv4. None for no address.

    >>> address_of("::ffff:127.0.0.1")
    IPv4Address('127.0.0.1')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
