/** An installation as scripts/install made it before there were packages. */
import type { DebianRoot } from '../support/debian-root.ts';
import { FIRST, packageOf } from './versions.ts';

/**
 * Programs below /opt, a unit below /etc, a command below /usr/local, running with its claim code; the programs are those
 * of the first version.
 */
export function installByScript(debian: DebianRoot): void {
  debian.must(`
    set -e
    dpkg-deb -x ${packageOf(FIRST)} /tmp/unpacked
    cp -a /tmp/unpacked/usr/lib/energy-gateway/package /opt/energy-gateway
    mkdir -p /opt/energy-gateway.old /usr/local/bin
    cp /tmp/unpacked/usr/lib/sysusers.d/energy-gateway.conf /tmp/users.conf
    systemd-sysusers /tmp/users.conf
    ln -sfn /opt/energy-gateway/scripts/energy-gateway /usr/local/bin/energy-gateway
    sed -e /^ExecStartPre=/d -e /^ExecStopPost=/d -e /^Wants=/d -e s/^NotifyAccess=.*/NotifyAccess=all/ \\
      -e s,/var/lib/energy-gateway-versions/current,/opt/energy-gateway,g \\
      /tmp/unpacked/usr/lib/systemd/system/energy-gateway.service >/etc/systemd/system/energy-gateway.service
    rm -r /tmp/unpacked
    systemctl daemon-reload
    systemctl enable --quiet --now energy-gateway.service
  `);
}
