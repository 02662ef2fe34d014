export { fingerprintOf, type ClientCertificate, type KeyAndCertificate, type ServerNames } from './model.ts';
export { createTls, type Tls, type TlsOptions } from './tls.ts';
