export { createServiceNotices, type ServiceNoticeOptions } from './systemd.ts';
