"""The calls of the Windows API that ``windows`` needs, through ctypes. Holds no decision, because tests replace it."""

from __future__ import annotations

import sys

if sys.platform != "win32":
    raise ImportError("this module exists on Windows only")

import ctypes
import msvcrt
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from typing import Final

_kernel: Final = ctypes.WinDLL("kernel32", use_last_error=True)
_security: Final = ctypes.WinDLL("advapi32", use_last_error=True)

_FAIL_AT_ONCE: Final = 1
_EXCLUSIVE: Final = 2
_LOCK_VIOLATION: Final = 33
_IO_PENDING: Final = 997
_LOCKED_BYTE: Final = 0x7FFF_FFFF
"""Upper half of the place of the locked byte, which is far behind the end of any file."""
_INVALID_PARAMETER: Final = 87
_ACCESS_DENIED: Final = 5
_TERMINATE: Final = 0x1
_SYNCHRONIZE: Final = 0x10_0000
_WAIT_TIMEOUT: Final = 0x102
_BELOW_NORMAL: Final = 0x4000
_TOKEN_QUERY: Final = 0x8
_TOKEN_USER: Final = 1
_FILE_OBJECT: Final = 1
_DACL: Final = 0x4
_PROTECTED_DACL: Final = 0x8000_0000
_REVISION: Final = 1
_EXTENDED_LIMITS: Final = 9
_KILL_ON_JOB_CLOSE: Final = 0x2000


class _Overlapped(ctypes.Structure):
    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", wintypes.DWORD),
        ("offset_high", wintypes.DWORD),
        ("event", wintypes.HANDLE),
    )


class _JobLimits(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``, of which only the flags are used."""

    _fields_ = (
        ("times", wintypes.LARGE_INTEGER * 2),
        ("flags", wintypes.DWORD),
        ("working_set", ctypes.c_size_t * 2),
        ("processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("classes", wintypes.DWORD * 2),
        ("counters", ctypes.c_ulonglong * 6),
        ("memory", ctypes.c_size_t * 4),
    )


_kernel.GetCurrentProcess.restype = wintypes.HANDLE
_kernel.OpenProcess.restype = wintypes.HANDLE
_kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
_kernel.TerminateProcess.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel.WaitForSingleObject.argtypes = (wintypes.HANDLE, wintypes.DWORD)
_kernel.WaitForSingleObject.restype = wintypes.DWORD
_kernel.SetPriorityClass.argtypes = (wintypes.HANDLE, wintypes.DWORD)
_kernel.LocalFree.argtypes = (ctypes.c_void_p,)
_kernel.LocalFree.restype = ctypes.c_void_p
_kernel.LockFileEx.argtypes = (
    wintypes.HANDLE,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.POINTER(_Overlapped),
)
_kernel.UnlockFileEx.argtypes = (
    wintypes.HANDLE,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.POINTER(_Overlapped),
)
_kernel.PeekNamedPipe.argtypes = (
    wintypes.HANDLE,
    ctypes.c_void_p,
    wintypes.DWORD,
    ctypes.POINTER(wintypes.DWORD),
    ctypes.POINTER(wintypes.DWORD),
    ctypes.POINTER(wintypes.DWORD),
)
_kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
_kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_security.OpenProcessToken.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE))
_security.GetTokenInformation.argtypes = (
    wintypes.HANDLE,
    ctypes.c_int,
    ctypes.c_void_p,
    wintypes.DWORD,
    ctypes.POINTER(wintypes.DWORD),
)
_security.ConvertSidToStringSidW.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_security.ConvertStringSecurityDescriptorToSecurityDescriptorW.argtypes = (
    wintypes.LPCWSTR,
    wintypes.DWORD,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
_security.ConvertSecurityDescriptorToStringSecurityDescriptorW.argtypes = (
    ctypes.c_void_p,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
_security.GetSecurityDescriptorDacl.argtypes = (
    ctypes.c_void_p,
    ctypes.POINTER(wintypes.BOOL),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(wintypes.BOOL),
)
_security.SetNamedSecurityInfoW.argtypes = (
    wintypes.LPWSTR,
    ctypes.c_int,
    wintypes.DWORD,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_security.SetNamedSecurityInfoW.restype = wintypes.DWORD
_security.GetNamedSecurityInfoW.argtypes = (
    wintypes.LPCWSTR,
    ctypes.c_int,
    wintypes.DWORD,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
)
_security.GetNamedSecurityInfoW.restype = wintypes.DWORD


class WindowsApi:
    """The Windows API of this process. See ``Api`` in ``windows`` for the methods."""

    def lock(self, descriptor: int, *, shared: bool) -> bool:
        """Lock the byte of locks without waiting."""
        flags = _FAIL_AT_ONCE | (0 if shared else _EXCLUSIVE)
        place = _Overlapped(offset_high=_LOCKED_BYTE)
        if _kernel.LockFileEx(msvcrt.get_osfhandle(descriptor), flags, 0, 1, 0, ctypes.byref(place)):
            return True
        if ctypes.get_last_error() in (_LOCK_VIOLATION, _IO_PENDING):
            return False
        raise ctypes.WinError(ctypes.get_last_error())

    def unlock(self, descriptor: int) -> None:
        """Unlock the byte of locks."""
        place = _Overlapped(offset_high=_LOCKED_BYTE)
        _require(_kernel.UnlockFileEx(msvcrt.get_osfhandle(descriptor), 0, 1, 0, ctypes.byref(place)))

    def user_sid(self) -> str:
        """Return the security identifier of this user."""
        token = wintypes.HANDLE()
        _require(_security.OpenProcessToken(_kernel.GetCurrentProcess(), _TOKEN_QUERY, ctypes.byref(token)))
        try:
            size = wintypes.DWORD()
            _security.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
            user = ctypes.create_string_buffer(size.value)
            _require(_security.GetTokenInformation(token, _TOKEN_USER, user, size, ctypes.byref(size)))
            text = ctypes.c_void_p()
            sid = ctypes.cast(user, ctypes.POINTER(ctypes.c_void_p))[0]
            _require(_security.ConvertSidToStringSidW(sid, ctypes.byref(text)))
            with _freeing(text):
                return ctypes.wstring_at(text.value or 0)
        finally:
            _kernel.CloseHandle(token)

    def set_access(self, path: str, sddl: str) -> None:
        """Replace the access list of a path, and inherit none from its folder."""
        descriptor, access = ctypes.c_void_p(), ctypes.c_void_p()
        present, defaulted = wintypes.BOOL(), wintypes.BOOL()
        convert = _security.ConvertStringSecurityDescriptorToSecurityDescriptorW
        _require(convert(sddl, _REVISION, ctypes.byref(descriptor), None))
        with _freeing(descriptor):
            _require(
                _security.GetSecurityDescriptorDacl(
                    descriptor, ctypes.byref(present), ctypes.byref(access), ctypes.byref(defaulted)
                )
            )
            code = _security.SetNamedSecurityInfoW(
                path, _FILE_OBJECT, _DACL | _PROTECTED_DACL, None, None, access, None
            )
        if code:
            raise ctypes.WinError(code)

    def get_access(self, path: str) -> str:
        """Return the access list of a path in the language of security descriptors."""
        descriptor, text = ctypes.c_void_p(), ctypes.c_void_p()
        code = _security.GetNamedSecurityInfoW(
            path, _FILE_OBJECT, _DACL, None, None, None, None, ctypes.byref(descriptor)
        )
        if code:
            raise ctypes.WinError(code)
        convert = _security.ConvertSecurityDescriptorToStringSecurityDescriptorW
        with _freeing(descriptor):
            _require(convert(descriptor, _REVISION, _DACL, ctypes.byref(text), None))
            with _freeing(text):
                return ctypes.wstring_at(text.value or 0)

    def process_runs(self, pid: int) -> bool:
        """Return whether a process has this id."""
        process = _kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not process:
            return ctypes.get_last_error() == _ACCESS_DENIED
        try:
            return bool(_kernel.WaitForSingleObject(process, 0) == _WAIT_TIMEOUT)
        finally:
            _kernel.CloseHandle(process)

    def terminate(self, pid: int) -> None:
        """End a process at once."""
        process = _kernel.OpenProcess(_TERMINATE, False, pid)
        if not process:
            code = ctypes.get_last_error()
            raise ProcessLookupError(pid) if code == _INVALID_PARAMETER else ctypes.WinError(code)
        try:
            _require(_kernel.TerminateProcess(process, 1))
        finally:
            _kernel.CloseHandle(process)

    def bind_children(self) -> None:
        """Put this process into a job that ends its processes when its handle is closed, which this process keeps."""
        job = _kernel.CreateJobObjectW(None, None)
        _require(job)
        limits = _JobLimits(flags=_KILL_ON_JOB_CLOSE)
        _require(_kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)))
        _require(_kernel.AssignProcessToJobObject(job, _kernel.GetCurrentProcess()))

    def lower_priority(self) -> None:
        """Put this process below those of the desktop."""
        _require(_kernel.SetPriorityClass(_kernel.GetCurrentProcess(), _BELOW_NORMAL))

    def has_input(self, descriptor: int) -> bool:
        """Return whether a pipe has input or its other end is closed."""
        waiting = wintypes.DWORD()
        pipe = msvcrt.get_osfhandle(descriptor)
        return not _kernel.PeekNamedPipe(pipe, None, 0, None, ctypes.byref(waiting), None) or waiting.value > 0


@contextmanager
def _freeing(pointer: ctypes.c_void_p) -> Iterator[None]:
    try:
        yield
    finally:
        _kernel.LocalFree(pointer)


def _require(succeeded: int) -> None:
    if not succeeded:
        raise ctypes.WinError(ctypes.get_last_error())
