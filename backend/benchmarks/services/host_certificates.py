"""Hosts whose key an authority has signed: trusted without anybody's approval."""

from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.host_certificates import (
    certificate_refusal,
    key_of_certificate,
    signing_key,
)
from backend.benchmarks.models import Host, HostAuthority, HostState
from backend.benchmarks.selectors.hosts import authorities_of, fingerprint
from backend.core import clock

WORKER = "worker"


def host_certify(*, host: Host, certificate: str) -> bool:
    """True if a certificate that the host showed makes it trusted; the host is not saved.

    One that was trusted by its certificate and shows none that counts is no longer.
    """
    trusted, revoked = authorities_of(host.workspace, host)
    host.certificate_refusal = ""
    if certificate:
        host.certificate_refusal = certificate_refusal(
            certificate, address=host.address, trusted=trusted, revoked=revoked, now=clock.now()
        )
    if certificate and not host.certificate_refusal:
        _trust(host, certificate, trusted[signing_key(certificate)])
        return True
    if host.authority_id is not None:
        host.certificate_refusal = host.certificate_refusal or "it shows no certificate any more"
        host.authority = None
        # As one that nobody has approved yet: a person may do so by its fingerprint.
        host.host_key = ""
        host.state = HostState.UNVERIFIED
    return False


def _trust(host: Host, certificate: str, authority: HostAuthority) -> None:
    is_new = host.state != HostState.TRUSTED
    host.authority = authority
    host.host_key = host.scanned_key = key_of_certificate(certificate)
    host.state = HostState.TRUSTED
    if is_new:
        audit_record(
            actor=WORKER,
            action="host_approve",
            target=host,
            detail={"fingerprint_sha256": fingerprint(host.host_key), "by": "authority"},
        )
