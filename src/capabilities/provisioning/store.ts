/**
 * Tables `device_credential` and `device_certificate` of state.db: hashes and fingerprints, never secrets. A
 * hardware id has one of both, the newest (mqtt-device-protocol.md section 2 "Rotation").
 */
import type { Database } from '../../platform/sqlite/index.ts';

export interface StoredPassword {
  hardwareId: string;
  salt: Buffer;
  sha256: Buffer;
}

interface PasswordRow {
  hardware_id: string;
  salt: Buffer;
  password_sha256: Buffer;
}

export type CredentialStore = ReturnType<typeof createCredentialStore>;

export function createCredentialStore(database: Database) {
  const selectPassword = database.prepare<[string], PasswordRow>(
    'SELECT hardware_id, salt, password_sha256 FROM device_credential WHERE hardware_id = ?',
  );
  const putPassword = database.prepare<[string, string, Buffer, Buffer, number]>(
    `INSERT INTO device_credential (hardware_id, device_id, salt, password_sha256, created_at_ms)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (hardware_id) DO UPDATE SET device_id = excluded.device_id, salt = excluded.salt,
       password_sha256 = excluded.password_sha256, created_at_ms = excluded.created_at_ms`,
  );
  const removePassword = database.prepare<[string]>('DELETE FROM device_credential WHERE hardware_id = ?');
  const selectCertificate = database.prepare<[string], { hardware_id: string }>(
    'SELECT hardware_id FROM device_certificate WHERE fingerprint = ?',
  );
  const removeCertificates = database.prepare<[string]>(
    'DELETE FROM device_certificate WHERE hardware_id = ?',
  );
  const insertCertificate = database.prepare<[string, string, string, string, number]>(
    `INSERT INTO device_certificate (fingerprint, serial, hardware_id, device_id, created_at_ms)
     VALUES (?, ?, ?, ?, ?)`,
  );

  return {
    password: (hardwareId: string): StoredPassword | undefined => {
      const row = selectPassword.get(hardwareId);
      return row && { hardwareId: row.hardware_id, salt: row.salt, sha256: row.password_sha256 };
    },
    /** In place of all earlier credentials of the hardware id. */
    putPassword: ({ hardwareId, salt, sha256 }: StoredPassword, deviceId: string, nowMs: number): void => {
      removeCertificates.run(hardwareId);
      putPassword.run(hardwareId, deviceId, salt, sha256, nowMs);
    },
    /** The hardware id that a certificate was issued to; undefined when it is unknown or revoked. */
    hardwareIdOfCertificate: (fingerprint: string): string | undefined =>
      selectCertificate.get(fingerprint)?.hardware_id,
    /** In place of all earlier credentials of the hardware id. */
    putCertificate: (
      certificate: { fingerprint: string; serial: string; hardwareId: string },
      deviceId: string,
      nowMs: number,
    ): void => {
      const { fingerprint, serial, hardwareId } = certificate;
      removePassword.run(hardwareId);
      removeCertificates.run(hardwareId);
      insertCertificate.run(fingerprint, serial, hardwareId, deviceId, nowMs);
    },
  };
}
