export { DiskSpace, isDiskLow } from './disk-space.ts';
export { analogProblem, canProblem, gpioProblem } from './io-probe.ts';
export { networkNames } from './network-names.ts';
export { deviceFileOf, serialLineProblem } from './serial-probe.ts';
export { createHost, type Host, type HostLoad } from './host.ts';
