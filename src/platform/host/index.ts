export { DiskSpace, type Room } from './disk-space.ts';
export { networkNames } from './network-names.ts';
export { serialLineProblem } from './serial-probe.ts';
export { createHost, type Host, type HostFacts, type HostLoad } from './host.ts';
