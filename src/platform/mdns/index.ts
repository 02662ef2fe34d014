export { addressOf, type LookupOptions } from './lookup.ts';
export { createMdns, type Mdns, type MdnsOptions } from './mdns.ts';
export type { AnnouncedService } from './records.ts';
