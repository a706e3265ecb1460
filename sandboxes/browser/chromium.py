"""Starts Chromium, with its command-line arguments and explanations of failed starts.

Each Chromium has its own Playwright process, so that neither outlives the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser as Chromium
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Playwright, async_playwright

from cairn.core.errors import CairnError, ConfigError, MissingProgramError, SandboxFailure
from cairn.core.seeding import kept_random_state

# Chromium uses only the last list of disabled features, so this one includes Playwright's.
_FEATURES_OFF = (
    "AimEnabled",
    "AutofillServerCommunication",  # it would query Google about every form
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DeferRendererTasksAfterInput",  # timers after a click would wait for a frame, and a step ends with it
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "RenderDocument",  # without it, documents of one site share a renderer and open sooner
    "SpareRendererForSitePerProcess",  # a spare process beside each page
    "ThirdPartyStoragePartitioning",
    "Translate",
)
_ARGUMENTS = (
    "--enable-blink-features=ComputedAccessibilityInfo",  # roles and names, for our scripts
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-site-isolation-trials",  # all sites of a page belong to one environment: no new process for each
    "--renderer-process-limit=1",  # per page
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--disable-smooth-scrolling",
    # Frames are made on request. Otherwise Chromium sets a deadline for each frame by the machine's clock but compares
    # it with the document's own clock: once that clock is behind, frames never come.
    "--enable-begin-frame-control",
    "--run-all-compositor-stages-before-draw",  # where Chromium lacks that control, frames come continuously with this
)
_NO_SANDBOX = ("No usable sandbox", "SUID sandbox", "without --no-sandbox")  # phrases of Chromium's messages


@dataclass(eq=False, slots=True)
class Launched:
    """One Chromium, and the Playwright process that drives it."""

    chromium: Chromium
    driver: Playwright
    num_leased: int = 0  # leased pages
    framing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a frame is made

    async def close(self) -> None:
        """End both."""
        with contextlib.suppress(PlaywrightError):  # it is gone
            await self.chromium.close()
        await self.driver.stop()

    async def memory_bytes(self) -> int:
        """Return the private memory of all its processes.

        Raises:
            PlaywrightError: the browser does not answer.
        """
        return sum(map(_own_bytes, await self.processes()))

    async def processes(self) -> list[int]:
        """Return the process ids of all its processes.

        Raises:
            PlaywrightError: the browser does not answer.
        """
        session = await self.chromium.new_browser_cdp_session()
        found = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        await session.detach()
        return [int(process["id"]) for process in found]


async def launched(path: str, *, has_sandbox: bool | None) -> Launched:
    """Start a Chromium.

    `has_sandbox`: whether Chromium's own sandbox is on; None: unless this process is root.

    Raises:
        ConfigError: it cannot have its own sandbox here.
        MissingProgramError: a shared library is missing.
        SandboxFailure: it does not start for another reason.
    """
    async with contextlib.AsyncExitStack() as ends:
        with kept_random_state():  # Playwright draws its call ids from it
            driver = await async_playwright().start()
        ends.push_async_callback(driver.stop)
        try:
            chromium = await driver.chromium.launch(
                executable_path=path,
                args=_ARGUMENTS,
                chromium_sandbox=os.geteuid() != 0 if has_sandbox is None else has_sandbox,
            )
        except PlaywrightError as error:
            raise _explained(path, error.message) from error
        ends.pop_all()
    return Launched(chromium, driver)


def _explained(path: str, message: str) -> CairnError:
    """Return the reason of a failed start.

    Chromium's output has the reason; the first line of Playwright's message does not.
    """
    written = [line.partition("[err] ")[2] for line in message.splitlines() if "[err] " in line]
    for line in written:
        if any(phrase in line for phrase in _NO_SANDBOX):
            return ConfigError(
                f"{path} cannot have its own sandbox here: {line:.300}. Let it make user namespaces (in Docker: a "
                "seccomp profile that allows them), or set chromium_sandbox to false: faults of Chromium are not "
                "kept from this process then"
            )
        if "shared libraries" in line:
            command = "playwright install-deps chromium"
            return MissingProgramError(f"{path} does not start: {line:.300}. Install it with: {command}", command)
    return SandboxFailure(f"{path} does not start: {(written or message.splitlines())[-1]:.300}")


def _own_bytes(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:  # the process has ended
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
