export { browse, type FoundService } from './browse.ts';
export { addressOf } from './lookup.ts';
export { Mdns } from './mdns.ts';
export type { AnnouncedService } from './records.ts';
