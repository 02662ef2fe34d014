export { createServiceNotices, type ServiceNoticeOptions, type ServiceNotices } from './systemd.ts';
