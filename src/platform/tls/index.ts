export { fingerprintOf, type ClientCertificate, type ServerNames } from './model.ts';
export { Tls, type TlsOptions } from './tls.ts';
