/**
 * Rows of device credentials and certificates. A hardware id has one of both, the newest
 * (docs/interface/mqtt-devices.md#credentials).
 */
import type { EpochMs } from '../../lib/time.ts';
import { type Database, given, placeholders, upsert } from '../../platform/sqlite/index.ts';
import { deviceCertificate, deviceCredential } from './tables.ts';

export type StoredPassword = Pick<typeof deviceCredential.$inferSelect, 'hardwareId' | 'salt' | 'sha256'>;

export function createCredentialStore({ orm }: Database) {
  const selectPassword = orm
    .select({
      hardwareId: deviceCredential.hardwareId,
      salt: deviceCredential.salt,
      sha256: deviceCredential.sha256,
    })
    .from(deviceCredential)
    .where(given(deviceCredential.hardwareId))
    .prepare();
  const putPassword = upsert({ orm }, deviceCredential);
  const removePassword = orm.delete(deviceCredential).where(given(deviceCredential.hardwareId)).prepare();
  const selectCertificate = orm
    .select({ hardwareId: deviceCertificate.hardwareId })
    .from(deviceCertificate)
    .where(given(deviceCertificate.fingerprint))
    .prepare();
  const removeCertificates = orm
    .delete(deviceCertificate)
    .where(given(deviceCertificate.hardwareId))
    .prepare();
  const insertCertificate = orm.insert(deviceCertificate).values(placeholders(deviceCertificate)).prepare();

  return {
    password: (id: string): StoredPassword | undefined => selectPassword.get({ hardwareId: id }),
    /** In place of all earlier credentials of the hardware id. */
    putPassword: (password: StoredPassword, deviceId: string, nowMs: EpochMs): void => {
      removeCertificates.run({ hardwareId: password.hardwareId });
      putPassword.run({ ...password, deviceId, createdAtMs: nowMs });
    },
    /** The hardware id that a certificate was issued to; undefined when it is unknown or revoked. */
    hardwareIdOfCertificate: (fingerprint: string): string | undefined =>
      selectCertificate.get({ fingerprint })?.hardwareId,
    /** In place of all earlier credentials of the hardware id. */
    putCertificate: (
      certificate: Pick<typeof deviceCertificate.$inferSelect, 'fingerprint' | 'serial' | 'hardwareId'>,
      deviceId: string,
      nowMs: EpochMs,
    ): void => {
      removePassword.run({ hardwareId: certificate.hardwareId });
      removeCertificates.run({ hardwareId: certificate.hardwareId });
      insertCertificate.run({ ...certificate, deviceId, createdAtMs: nowMs });
    },
  };
}
