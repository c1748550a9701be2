"""All that is measured, in the order of the table."""

import cases.archives
import cases.bulk
import cases.databases
import cases.forwarding
import cases.handshakes
import cases.http2
import cases.indexing
import cases.instructions
import cases.many
import cases.maps
import cases.pages
import cases.process
import cases.recording
import cases.retained
import cases.stored
from cases.case import Case, Comparison


__all__ = ["Case", "Comparison", "all_cases"]


def all_cases() -> list[Case]:
    return [
        *cases.retained.CASES, *cases.http2.CASES, *cases.handshakes.CASES, *cases.stored.CASES,
        *cases.forwarding.CASES, *cases.many.CASES, *cases.bulk.CASES, *cases.maps.CASES,
        *cases.databases.CASES, *cases.archives.CASES, *cases.pages.CASES, *cases.indexing.CASES, *cases.recording.CASES,
        *cases.process.CASES, *cases.instructions.CASES,
    ]
