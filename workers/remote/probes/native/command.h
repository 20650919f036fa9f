/* Starting a command in a process group of its own, its output in files and its input empty. */
#ifndef COMMAND_H
#define COMMAND_H

#include "probe.h"
#include "host.h"

enum { PDEATHSIG_OPTION = 1 };

static inline long open_as(long wanted, const char *path, int flags)
{
    const long file = SYS4(NR_OPENAT, AT_CWD, path, flags, 0600);
    if (file < 0 || file == wanted) return file;
    const long result = SYS3(NR_DUP3, file, wanted, 0);
    SYS1(NR_CLOSE, file);
    return result;
}

/* Replaces the child by the command, searched in PATH when its name has no slash. */
static inline _Noreturn void become(char **command, char **envp)
{
    const char *path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    char name[4096];
    bool has_slash = false;
    for (const char *at = command[0]; *at; at++) has_slash |= *at == '/';
    if (has_slash) SYS3(NR_EXECVE, command[0], command, envp);
    for (char **entry = envp; *entry; entry++)
        if (text_starts(*entry, "PATH=")) path = *entry + 5;
    while (!has_slash && *path) {
        char *at = name;
        while (*path && *path != ':') {
            if (at < name + sizeof name - 2) *at++ = *path;
            path++;
        }
        if (*path == ':') path++;
        *at++ = '/';
        text_append(at, name + sizeof name, command[0]);
        SYS3(NR_EXECVE, name, command, envp);
    }
    static const char message[] = "observe: cannot run the command\n";
    (void)write_all(2, message, sizeof message - 1);
    leave(127);
}

/* When memory runs out the kernel ends what measures, and nobody else: anybody may say so of himself. */
static inline void volunteer_to_end(void)
{
    static const char score[] = "1000";
    const long file = SYS4(NR_OPENAT, AT_CWD, "/proc/self/oom_score_adj", O_WRITE | O_CLOSE_ON_EXEC, 0);
    if (file < 0) return;
    (void)write_all(file, score, sizeof score - 1);
    SYS1(NR_CLOSE, file);
}

/* The process, or -errno when there is none to be had. */
static inline long start(char **command, const char *out, const char *err, char **envp)
{
    const uint64_t nothing = 0;
    const long pid = SYS6(NR_CLONE, SIG_CHILD, 0, 0, 0, 0, 0);
    if (pid > 0) SYS2(NR_SETPGID, pid, pid);
    if (pid) return pid;
    SYS2(NR_SETPGID, 0, 0);
    SYS2(NR_PRCTL, PDEATHSIG_OPTION, SIG_TERM);
    volunteer_to_end();
    if (open_as(0, "/dev/null", O_READ) < 0 || open_as(1, out, O_WRITE_NEW) < 0 || open_as(2, err, O_WRITE_NEW) < 0)
        leave(126);
    SYS4(NR_SIGPROCMASK, 2, &nothing, 0, sizeof nothing);
    become(command, envp);
}

#endif
