/** The processors for which a filter can be built; numbers of system calls differ between them. */
export type FilteredArchitecture = "x64" | "arm64";

/** Undefined for a processor whose system calls are not listed here. */
export function ownArchitecture(): FilteredArchitecture | undefined {
  const { arch } = process;
  return arch === "x64" || arch === "arm64" ? arch : undefined;
}

/** The number on x64 and on ARM64; a call that ARM64 does not have is undefined there. */
type Numbers = readonly [x64: number, arm64: number | undefined];

/** Calls that no engine needs, by what a hijacked one could do with them. */
const forbiddenCalls: Readonly<Record<string, Readonly<Record<string, Numbers>>>> = {
  "start processes": {
    fork: [57, undefined],
    vfork: [58, undefined],
  },
  "reach other processes": {
    ptrace: [101, 117],
    process_vm_readv: [310, 270],
    process_vm_writev: [311, 271],
    process_madvise: [440, 440],
    process_mrelease: [448, 448],
    kcmp: [312, 272],
    pidfd_open: [434, 434],
    pidfd_getfd: [438, 438],
  },
  "signal other processes": {
    tkill: [200, 130],
    rt_sigqueueinfo: [129, 138],
    rt_tgsigqueueinfo: [297, 240],
    pidfd_send_signal: [424, 424],
  },
  "slow other processes down": {
    setpriority: [141, 140],
    sched_setparam: [142, 118],
    sched_setscheduler: [144, 119],
    sched_setattr: [314, 274],
    ioprio_set: [251, 30],
    migrate_pages: [256, 238],
    move_pages: [279, 239],
  },
  "connect to anything": {
    connect: [42, 203],
  },
  "change what it sees of the file system": {
    mount: [165, 40],
    umount2: [166, 39],
    pivot_root: [155, 41],
    chroot: [161, 51],
    open_tree: [428, 428],
    move_mount: [429, 429],
    fsopen: [430, 430],
    fsconfig: [431, 431],
    fsmount: [432, 432],
    fspick: [433, 433],
    mount_setattr: [442, 442],
    mknod: [133, undefined],
    mknodat: [259, 33],
    name_to_handle_at: [303, 264],
    open_by_handle_at: [304, 265],
    quotactl: [179, 60],
    quotactl_fd: [443, 443],
  },
  "enter namespaces": {
    unshare: [272, 97],
    setns: [308, 268],
  },
  "use parts of the kernel that often had vulnerabilities": {
    add_key: [248, 217],
    request_key: [249, 218],
    keyctl: [250, 219],
    bpf: [321, 280],
    perf_event_open: [298, 241],
    userfaultfd: [323, 282],
    io_uring_setup: [425, 425],
    io_uring_enter: [426, 426],
    io_uring_register: [427, 427],
    modify_ldt: [154, undefined],
    uselib: [134, undefined],
    personality: [135, 92],
    lookup_dcookie: [212, 18],
    nfsservctl: [180, 42],
    vhangup: [153, 58],
  },
  "administer the machine": {
    init_module: [175, 105],
    finit_module: [313, 273],
    delete_module: [176, 106],
    kexec_load: [246, 104],
    kexec_file_load: [320, 294],
    reboot: [169, 142],
    swapon: [167, 224],
    swapoff: [168, 225],
    acct: [163, 89],
    sethostname: [170, 161],
    setdomainname: [171, 162],
    settimeofday: [164, 170],
    clock_settime: [227, 112],
    clock_adjtime: [305, 266],
    adjtimex: [159, 171],
    syslog: [103, 116],
    iopl: [172, undefined],
    ioperm: [173, undefined],
  },
};

/** Calls that are decided by one of their arguments. */
const inspectedCalls = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  ioctl: [16, 29],
  kill: [62, 129],
  tgkill: [234, 131],
  prlimit64: [302, 261],
  sched_setaffinity: [203, 122],
} as const satisfies Readonly<Record<string, Numbers>>;

export type InspectedCall = keyof typeof inspectedCalls;

export function inspectedNumber(call: InspectedCall, architecture: FilteredArchitecture): number {
  return inspectedCalls[call][architecture === "x64" ? 0 : 1];
}

export function forbiddenNumbers(architecture: FilteredArchitecture): readonly number[] {
  return Object.values(forbiddenCalls).flatMap((calls) =>
    Object.values(calls).flatMap(([x64, arm64]) => (architecture === "x64" ? x64 : (arm64 ?? []))),
  );
}
