"""Every rule does what its cases say."""

from __future__ import annotations

import pytest

from tests.rules.harness import Case, cases, fixed, matches, report_of


@pytest.mark.parametrize("case", cases(), ids=str)
def test_case(case: Case) -> None:
    report = report_of(case)
    assert not report.crashed, report.findings
    assert all(finding.code == case.code for finding in report.findings), report.findings
    if case.skips is not None:
        assert [code for code, _ in report.skipped] == [case.code], report
        assert case.skips in report.skipped[0][1]
        return
    assert len(report.findings) == len(case.finds), report.findings
    if not case.finds:
        assert report.passed == (case.code,), report
    wrong = [fault for pair in zip(report.findings, case.finds, strict=True) for fault in matches(*pair)]
    assert not wrong, wrong


@pytest.mark.parametrize(
    "case", [case for case in cases() if any(e.get("fixed") for e in case.finds)], ids=str
)
def test_fix(case: Case) -> None:
    for finding, expected in zip(report_of(case).findings, case.finds, strict=True):
        if expected.get("fixed"):
            assert finding.fixes and finding.fixes[0].edits, finding
            again = report_of(fixed(case, finding.fixes[0])).findings
            assert (finding.key, finding.message) not in [(other.key, other.message) for other in again]
