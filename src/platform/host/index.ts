export { createHost, DiskSpace, type Host, type HostLoad, isDiskLow, networkNames } from './host.ts';
export { type OwnNetwork, ownNetworks } from './own-networks.ts';
export { analogProblem, canProblem, deviceFileOf, gpioProblem, serialLineProblem } from './serial-probe.ts';
