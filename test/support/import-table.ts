/**
 * Allowed imports, as data for test/architecture.test.ts. A new folder needs a row here; a removed one takes its row
 * along.
 */
import type { ImportTable } from './import-check.ts';

/** Lowest first; a capability imports only from levels before its own. */
export const CAPABILITY_ORDER = [
  ['site', 'auth', 'audit', 'blueprints'],
  ['devices'],
  ['documents', 'provisioning'],
  ['mqtt-guests'],
  ['connectivity'],
  ['device-configuration', 'commands', 'telemetry', 'device-logs', 'announcements'],
  ['monitor', 'modules', 'energy', 'alerts', 'library', 'outputs'],
  ['notifications'],
  ['rules', 'targets', 'device-search'],
  ['module-ports', 'backups', 'updates', 'strategies'],
  ['appliance'],
];

const CAPABILITIES = CAPABILITY_ORDER.flat().map((name) => `capabilities/${name}`);

const PROGRAM_PARTS = [
  'protocol',
  'scripting/lua',
  'platform/clock',
  'platform/log',
  'platform/config',
  'platform/metrics',
  // The child's end of the message channel.
  'platform/processes',
  // Scripts run in threads of the program.
  'platform/threads',
  // Memory that nobody uses goes back to the system.
  'platform/host',
];

export const TABLE: ImportTable = {
  rows: [
    {
      place: 'main.ts',
      mayImport: [
        'gateway.ts',
        'platform/clock',
        'platform/config',
        'platform/files',
        'platform/host',
        'platform/log',
        'platform/systemd',
      ],
      node: 'all',
    },
    { place: 'admin.ts', mayImport: ['admin', 'platform', 'capabilities/auth'], node: 'all' },
    // The local commands in pieces that fit a screen.
    {
      place: 'admin',
      mayImport: ['platform', 'site-file', 'capabilities/auth', 'capabilities/audit'],
      node: 'all',
    },
    // A box as one file describes it: a client of the interface, with its forms.
    {
      place: 'site-file',
      mayImport: [
        'platform',
        'capabilities/site',
        'capabilities/auth',
        'capabilities/devices',
        'capabilities/rules',
        'capabilities/notifications',
        'capabilities/targets',
        'capabilities/energy',
      ],
      node: 'all',
    },
    { place: 'gateway.ts', mayImport: ['gateway', 'platform', 'capabilities/appliance'] },
    // The wiring in pieces that fit a screen.
    {
      place: 'gateway',
      mayImport: ['platform', 'protocol', 'site-file', ...CAPABILITIES],
      node: ['node:path', 'node:fs'],
    },

    { place: 'capabilities/site', mayImport: ['platform'] },
    { place: 'capabilities/auth', mayImport: ['platform'] },
    { place: 'capabilities/audit', mayImport: ['platform'] },
    { place: 'capabilities/blueprints', mayImport: ['platform', 'scripting/lua'] },
    {
      place: 'capabilities/devices',
      mayImport: ['platform', 'protocol', 'capabilities/site', 'capabilities/blueprints'],
    },
    { place: 'capabilities/documents', mayImport: ['platform', 'capabilities/devices'] },
    {
      place: 'capabilities/provisioning',
      mayImport: ['platform', 'capabilities/site', 'capabilities/blueprints', 'capabilities/devices'],
    },
    // Accounts of MQTT clients of other makers.
    {
      place: 'capabilities/mqtt-guests',
      mayImport: ['platform', 'capabilities/devices', 'capabilities/provisioning'],
    },
    {
      place: 'capabilities/connectivity',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/devices',
        'capabilities/provisioning',
        'capabilities/mqtt-guests',
      ],
    },
    {
      place: 'capabilities/device-configuration',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
    },
    {
      place: 'capabilities/commands',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/site',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
    },
    {
      place: 'capabilities/telemetry',
      mayImport: [
        'platform',
        'protocol',
        'telemetry-store',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
      folders: ['intake'],
    },
    {
      place: 'capabilities/device-logs',
      mayImport: ['platform', 'protocol', 'capabilities/devices', 'capabilities/connectivity'],
    },
    // Devices that announce themselves in the format of Home Assistant.
    {
      place: 'capabilities/announcements',
      mayImport: [
        'platform',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/provisioning',
        'capabilities/mqtt-guests',
        'capabilities/connectivity',
      ],
    },
    // The live view of devices: state, values and logs in one WebSocket stream.
    {
      place: 'capabilities/monitor',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/audit',
        'capabilities/devices',
        'capabilities/connectivity',
        'capabilities/telemetry',
        'capabilities/device-logs',
      ],
    },
    // The site as a whole, from the telemetry of its devices.
    {
      place: 'capabilities/energy',
      mayImport: [
        'platform',
        'capabilities/site',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/telemetry',
      ],
    },
    // Devices that people have, made into blueprints.
    {
      place: 'capabilities/library',
      mayImport: ['platform', 'library', 'capabilities/blueprints', 'capabilities/devices'],
    },
    // Devices on the gateway's networks, known by what they say.
    {
      place: 'capabilities/device-search',
      mayImport: ['platform', 'capabilities/library', 'capabilities/modules'],
    },
    // What devices warn of, from their telemetry.
    {
      place: 'capabilities/alerts',
      mayImport: ['platform', 'capabilities/blueprints', 'capabilities/devices', 'capabilities/telemetry'],
    },
    // The sender of alerts to the outside.
    {
      place: 'capabilities/notifications',
      mayImport: ['platform', 'capabilities/site', 'capabilities/devices', 'capabilities/alerts'],
    },
    // The gateway's side of the conversation with communication modules.
    {
      place: 'capabilities/modules',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/site',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
        'capabilities/device-configuration',
        'capabilities/commands',
      ],
    },
    // What rules may set of devices, decided in one place.
    {
      place: 'capabilities/outputs',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/site',
        'capabilities/devices',
        'capabilities/commands',
      ],
    },
    {
      place: 'capabilities/rules',
      mayImport: [
        'platform',
        'protocol',
        // A script with a fault is named when it is saved, not when it would run.
        'scripting/lua',
        'capabilities/site',
        'capabilities/devices',
        'capabilities/commands',
        'capabilities/notifications',
        'capabilities/outputs',
        'capabilities/telemetry',
        'capabilities/device-logs',
      ],
    },
    // Rules that are made from a few parameters.
    {
      place: 'capabilities/strategies',
      mayImport: [
        'platform',
        'library',
        'capabilities/site',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/energy',
        'capabilities/rules',
      ],
    },
    // Telemetry goes on to engines elsewhere; commands may come from there.
    {
      place: 'capabilities/targets',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/site',
        'capabilities/audit',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/commands',
        'capabilities/telemetry',
      ],
    },
    // Serial lines, CAN and contacts of the built-in module.
    { place: 'capabilities/module-ports', mayImport: ['platform'] },
    { place: 'capabilities/backups', mayImport: ['platform', 'capabilities/site'] },
    { place: 'capabilities/updates', mayImport: ['platform'] },
    { place: 'capabilities/appliance', mayImport: ['platform', 'capabilities/site'] },

    { place: 'platform/clock', mayImport: ['platform/files'], node: 'all' },
    { place: 'platform/config', mayImport: ['platform/files'], node: 'all' },
    // The package root, for files beside the program: migrations, built-in blueprints.
    { place: 'platform/files', mayImport: [], node: 'all' },
    // The box itself: memory, disk, load.
    { place: 'platform/host', mayImport: ['platform/clock', 'platform/log'], node: 'all' },
    { place: 'platform/log', mayImport: ['platform/clock'], node: 'all' },
    { place: 'platform/metrics', mayImport: ['platform/clock', 'platform/log'], node: 'all' },
    // When to sync, whatever is synced: shared by SQLite transactions and journal records.
    { place: 'platform/commit', mayImport: ['platform/clock', 'platform/log', 'platform/metrics'] },
    { place: 'platform/threads', mayImport: ['platform/clock'], node: 'all' },
    {
      place: 'platform/sqlite',
      mayImport: [
        'platform/clock',
        'platform/log',
        'platform/metrics',
        'platform/commit',
        'platform/files',
        // Its upkeep runs beside the event loop and looks at the room of the disk.
        'platform/host',
        'platform/workers',
      ],
      node: 'all',
    },
    { place: 'platform/retention', mayImport: ['platform/clock', 'platform/log', 'platform/metrics'] },
    {
      place: 'platform/backup',
      mayImport: [
        'platform/clock',
        'platform/files',
        'platform/log',
        'platform/processes',
        'platform/sqlite',
        'platform/threads',
        'platform/workers',
      ],
      node: 'all',
    },
    // Listeners and their sockets, of whatever protocol.
    { place: 'platform/sockets', mayImport: [], node: 'all' },
    {
      place: 'platform/http',
      mayImport: [
        'platform/clock',
        'platform/log',
        'platform/metrics',
        'platform/config',
        'platform/sockets',
      ],
      node: 'all',
    },
    // What the routes say of themselves, for programs and for people.
    {
      place: 'platform/http-description',
      mayImport: ['platform/http'],
    },
    {
      place: 'platform/mqtt',
      mayImport: [
        'platform/clock',
        'platform/log',
        'platform/metrics',
        'platform/config',
        'platform/sockets',
        'platform/tls',
      ],
      node: 'all',
    },
    // Requests to servers that people name.
    { place: 'platform/http-client', mayImport: ['platform/clock'], node: 'all' },
    // Messages to brokers that people name.
    { place: 'platform/mqtt-client', mayImport: ['platform/clock'], node: 'all' },
    { place: 'platform/tls', mayImport: ['platform/clock', 'platform/files', 'platform/log'], node: 'all' },
    {
      place: 'platform/processes',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/config', 'platform/files'],
      node: 'all',
    },
    // Packages of newer versions: whose they are, and whether they fit.
    { place: 'platform/packages', mayImport: ['platform/files'], node: 'all' },
    // Mail and HTTP requests to servers that people name.
    {
      place: 'platform/outbound',
      mayImport: ['platform/clock', 'platform/http-client'],
      node: 'all',
    },
    { place: 'platform/upload', mayImport: [], node: 'all' },
    {
      place: 'platform/workers',
      mayImport: ['platform/clock', 'platform/log', 'platform/threads'],
      node: 'all',
    },
    { place: 'platform/systemd', mayImport: ['platform/clock', 'platform/log'], node: 'all' },
    { place: 'platform/mdns', mayImport: ['platform/clock', 'platform/log'], node: 'all' },

    // Houses: each is entered through the name that package.json gives it.
    {
      place: 'telemetry-store',
      mayImport: [
        'protocol',
        'platform/clock',
        'platform/commit',
        'platform/files',
        'platform/host',
        'platform/log',
        'platform/metrics',
        'platform/sqlite',
        'platform/threads',
      ],
      node: 'all',
      folders: ['journal', 'codec', 'query', 'engine'],
    },
    // Devices and strategies as data, and what makes blueprints and scripts of them.
    { place: 'library', mayImport: [], folders: ['compile', 'strategy'] },
    { place: 'protocol', mayImport: [] },
    // It reads the machine's file out of the package that brings it.
    { place: 'scripting/lua', mayImport: [], node: ['node:fs', 'node:module'] },
    // What scripts of devices and rules have alike, beyond the language.
    { place: 'scripting/http', mayImport: ['scripting/lua', 'platform/clock'], node: 'all' },
    { place: 'scripting/host', mayImport: PROGRAM_PARTS, node: 'all' },
    {
      place: 'scripting/rule-sandbox',
      mayImport: [...PROGRAM_PARTS, 'scripting/host', 'scripting/http'],
      node: 'all',
    },
    {
      place: 'field-module',
      // It asks the network for the gateway's name, and tells its own version.
      mayImport: [
        ...PROGRAM_PARTS,
        'scripting/host',
        'scripting/http',
        'platform/files',
        'platform/mdns',
        'platform/mqtt-client',
      ],
      node: 'all',
    },
    {
      place: 'console',
      mayImport: [
        'capabilities/*/schema.ts',
        'capabilities/*/dry-run-schema.ts',
        'capabilities/*/forecast-schema.ts',
        'capabilities/*/run-schema.ts',
        'capabilities/*/manifest.ts',
      ],
      typesOnly: true,
    },
    { place: 'lib', mayImport: [] },
  ],
  pureNode: ['node:assert', 'node:assert/strict', 'node:buffer', 'node:crypto', 'node:util', 'node:zlib'],
  packages: {
    '@peculiar/x509': ['platform/tls'],
    '@cfworker/json-schema': ['capabilities/blueprints'],
    // The console's own are put into its bundle.
    '@preact/signals': ['console'],
    '@codemirror/autocomplete': ['console'],
    '@codemirror/commands': ['console'],
    '@codemirror/language': ['console'],
    '@codemirror/legacy-modes': ['console'],
    '@codemirror/lint': ['console'],
    '@codemirror/state': ['console'],
    '@codemirror/view': ['console'],
    '@lezer/highlight': ['console'],
    preact: ['console'],
    uplot: ['console'],
    '@fastify/busboy': ['platform/upload'],
    '@hono/node-server': ['platform/http'],
    '@valibot/to-json-schema': ['platform/http-description', 'library'],
    aedes: ['platform/mqtt'],
    'age-encryption': ['platform/backup'],
    'better-sqlite3': ['platform/sqlite'],
    croner: ['scripting/rule-sandbox'],
    'dns-packet': ['platform/mdns'],
    'drizzle-orm': ['platform/sqlite', ...CAPABILITIES],
    hono: ['platform/http'],
    mqtt: ['field-module', 'platform/mqtt-client'],
    'mqtt-packet': ['platform/mqtt'],
    nodemailer: ['platform/outbound'],
    pino: ['platform/log'],
    'prom-client': ['platform/metrics'],
    'reflect-metadata': ['platform/tls'],
    suncalc: ['scripting/rule-sandbox'],
    valibot: [
      'library',
      'platform/http',
      'platform/http-description',
      'gateway',
      'protocol',
      'site-file',
      ...CAPABILITIES,
    ],
    wasmoon: ['scripting/lua'],
    ws: ['platform/http', 'field-module'],
    yaml: ['platform/config', 'capabilities/blueprints', 'capabilities/library', 'library', 'site-file'],
    yauzl: ['capabilities/blueprints', 'platform/backup'],
    yazl: ['capabilities/blueprints', 'platform/backup'],
  },
  notYetBuilt: [],
};
