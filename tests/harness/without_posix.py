"""Hide from the package what Python lacks on Windows; importing this does so for good.

``python -m pytest -p without_posix`` runs tests so. Other modules, such as those of the standard
library, were written for this system and keep these names.
"""

import os
import sys
from types import ModuleType

# Names of `os` on Linux whose documentation says "Availability: Unix", except those of processes
# that have ended.
HIDDEN = {
    *("chown", "chroot", "confstr", "confstr_names", "ctermid", "eventfd", "fchdir", "fchown"),
    *("fork", "forkpty", "fpathconf", "getegid", "geteuid", "getgid", "getgrouplist", "getgroups"),
    *("getloadavg", "getpgid", "getpgrp", "getpriority", "getresgid", "getresuid", "getsid"),
    *("getuid", "getxattr", "initgroups", "killpg", "lchown", "listxattr", "lockf", "major"),
    *("makedev", "memfd_create", "minor", "mkfifo", "mknod", "nice", "openpty", "pathconf"),
    *("posix_fadvise", "posix_fallocate", "posix_spawn", "posix_spawnp", "pread", "preadv"),
    *("pwrite", "pwritev", "readv", "register_at_fork", "sched_getaffinity", "sched_getscheduler"),
    *("sched_setaffinity", "sched_yield", "sendfile", "setegid", "seteuid", "setgid", "setgroups"),
    *("setpgid", "setpriority", "setregid", "setreuid", "setsid", "setuid", "setxattr", "splice"),
    *("statvfs", "sync", "sysconf", "sysconf_names", "tcgetpgrp", "ttyname", "uname", "wait"),
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "O_TMPFILE"),
    *("ST_NODEV", "ST_NOEXEC", "ST_NOSUID", "ST_RDONLY"),
}
# Nor may anybody else import these.
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")


class WindowsLike(ModuleType):
    """The module `os`, with fewer names for modules of the package."""

    def __getattribute__(self, name):
        if name in HIDDEN:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] == "tensorlayout":
                raise AttributeError(f"module 'os' has no attribute {name!r}")
        return super().__getattribute__(name)


os.__class__ = WindowsLike
sys.modules.update(dict.fromkeys(MODULES))
