/**
 * Bytes that MQTT 3.1.1 forbids, one row each: the statement, what is wrong, the bytes, and the reaction.
 * Nothing of such a packet may reach the message hook, and no other client may notice.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RawClient, startTestBroker } from '../../support/mqtt.ts';
import {
  CONNACK_ACCEPTED,
  connectBytes,
  packet,
  PINGREQ,
  publishBytes,
  pubrelBytes,
  subscribeBytes,
  text,
  unsubscribeBytes,
} from '../../support/mqtt-bytes.ts';

/** Hexadecimal answer before the end, empty for none. */
type Row = [statement: string, title: string, bytes: Buffer, answer: string];

const NONE = '';
const CLOSED = 'closes the connection';
/** `from/a/` and a lone surrogate half as three bytes, which no UTF-8 has. */
const SURROGATE = Buffer.from([...Buffer.from('from/a/'), 0xed, 0xa0, 0x80]);
const OVERLONG = Buffer.from([...Buffer.from('from/a/'), 0xc0, 0x80]);
const CUT_SHORT = Buffer.from([...Buffer.from('from/a/'), 0xe2, 0x82]);

/** Fields before the client id. */
function header(name: string, level: number, flags: number): Buffer {
  return Buffer.concat([text(name), Buffer.from([level, flags, 0, 60])]);
}

const FIRST_PACKET: Row[] = [
  ['MQTT-3.1.0-1', 'PUBLISH before CONNECT', publishBytes('from/a/x', 'y'), NONE],
  ['MQTT-3.1.0-1', 'SUBSCRIBE before CONNECT', subscribeBytes(1, ['to/a/x', 0]), NONE],
  ['MQTT-3.1.0-1', 'PINGREQ before CONNECT', PINGREQ, NONE],
  ['MQTT-3.1.0-1', 'DISCONNECT before CONNECT', Buffer.from([0xe0, 0]), NONE],
  ['MQTT-3.1.0-1', 'a reserved type before CONNECT', Buffer.from([0xf0, 0]), NONE],
  ['MQTT-3.1.0-1', 'the first bytes of an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n'), NONE],
  ['MQTT-3.1.0-1', 'the first bytes of a TLS handshake', Buffer.from([0x16, 3, 1, 2, 0, 1, 0]), NONE],
  ['MQTT-2.2.2-2', 'flags in the first byte of CONNECT', packet(0x11, header('MQTT', 4, 2), text('')), NONE],
  ['MQTT 2.2.3', 'a remaining length of five bytes', Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80, 0x01]), NONE],
  ['limit', 'a CONNECT over its limit, refused by its header', Buffer.from([0x10, 0x81, 0x80, 0x01]), NONE],
  ['MQTT-3.1.2-1', 'protocol name HTTP', connectBytes({ name: 'HTTP' }), NONE],
  ['MQTT-3.1.2-1', 'protocol name in lower case', connectBytes({ name: 'mqtt' }), NONE],
  ['MQTT-3.1.2-1', 'an empty protocol name', connectBytes({ name: '' }), NONE],
  [
    'MQTT-1.5.3-1',
    'ill-formed UTF-8 in the protocol name',
    packet(0x10, text(SURROGATE), [4, 2, 0, 60]),
    NONE,
  ],
  ['MQTT-3.1.2-2', 'protocol level 3 under the name MQTT', connectBytes({ level: 3 }), '20020001'],
  ['MQTT-3.1.2-2', 'protocol level 0', connectBytes({ level: 0 }), '20020001'],
  ['MQTT-3.1.2-2', 'protocol level 6', connectBytes({ level: 6 }), '20020001'],
  ['MQTT-3.1.2-2', 'protocol level 132, as bridges ask first', connectBytes({ level: 0x84 }), '20020001'],
  ['MQTT-3.1.2-2', 'protocol level 4 under the name MQIsdp', connectBytes({ name: 'MQIsdp' }), '20020001'],
  ['MQTT 5 4.13', 'MQTT 5, in the shape of its CONNACK', connectBytes({ level: 5 }), '2003008400'],
  ['MQTT-3.1.2-3', 'the reserved connect flag', connectBytes({ flags: 0xc3 }), NONE],
  ['MQTT-3.1.2-11', 'will QoS without a will', connectBytes({ flags: 0xca }), NONE],
  ['MQTT-3.1.2-15', 'will retain without a will', connectBytes({ flags: 0xe2 }), NONE],
  ['MQTT-3.1.2-14', 'will QoS 3', connectBytes({ will: { topic: 'from/a/x', payload: '', qos: 3 } }), NONE],
  [
    'MQTT-3.1.2-22',
    'a password without user name',
    packet(0x10, header('MQTT', 4, 0x42), text(''), text('x')),
    NONE,
  ],
  ['MQTT-3.1.3-8', 'an empty client id without clean session', connectBytes({ clean: false }), '20020002'],
  ['MQTT-3.1.3-4', 'ill-formed UTF-8 in the client id', connectBytes({ clientId: SURROGATE }), NONE],
  ['MQTT-1.5.3-2', 'NUL in the client id', connectBytes({ clientId: 'a\0b' }), NONE],
  ['MQTT 1.5.3', 'a control character in the client id', connectBytes({ clientId: 'a\u0001' }), NONE],
  ['MQTT 1.5.3', 'U+0085 in the client id', connectBytes({ clientId: 'a\u0085b' }), NONE],
  ['MQTT-3.1.3-11', 'ill-formed UTF-8 in the user name', connectBytes({ username: OVERLONG }), NONE],
  ['MQTT-1.5.3-2', 'NUL in the user name', connectBytes({ username: 'a\0' }), NONE],
  [
    'MQTT-3.1.3-10',
    'ill-formed UTF-8 in the will topic',
    connectBytes({ will: { topic: CUT_SHORT, payload: '' } }),
    NONE,
  ],
  [
    'MQTT-3.3.2-2',
    'a wildcard in the will topic',
    connectBytes({ will: { topic: 'from/a/#', payload: '' } }),
    NONE,
  ],
  ['MQTT-4.7.3-1', 'an empty will topic', connectBytes({ will: { topic: '', payload: '' } }), NONE],
  ['MQTT-3.1.4-1', 'a CONNECT that ends after its flags', packet(0x10, text('MQTT'), [4, 2]), NONE],
  ['MQTT-3.1.4-1', 'a CONNECT without client id', packet(0x10, header('MQTT', 4, 2)), NONE],
  [
    'MQTT-3.1.4-1',
    'a CONNECT without the user name it announces',
    packet(0x10, header('MQTT', 4, 0x82), text('')),
    NONE,
  ],
  [
    'MQTT-3.1.4-1',
    'a CONNECT without the will it announces',
    packet(0x10, header('MQTT', 4, 6), text('')),
    NONE,
  ],
  ['MQTT-3.1.4-1', 'a string longer than its packet', packet(0x10, header('MQTT', 4, 2), [0, 9, 0x61]), NONE],
  ['MQTT-3.1.4-1', 'bytes behind the last field', packet(0x10, header('MQTT', 4, 2), text(''), [0]), NONE],
  ['MQTT-3.1.4-1', 'an empty CONNECT', packet(0x10), NONE],
];

const LATER_PACKETS: Row[] = [
  ['MQTT-3.1.0-2', 'a second CONNECT', connectBytes(), NONE],
  ['MQTT 2.2.1', 'reserved type 0', Buffer.from([0x00, 0]), NONE],
  ['MQTT 2.2.1', 'reserved type 15', Buffer.from([0xf0, 0]), NONE],
  ['MQTT 2.2.1', 'CONNACK from a client', Buffer.from([0x20, 2, 0, 0]), NONE],
  ['MQTT 2.2.1', 'SUBACK from a client', Buffer.from([0x90, 3, 0, 1, 0]), NONE],
  ['MQTT 2.2.1', 'UNSUBACK from a client', Buffer.from([0xb0, 2, 0, 1]), NONE],
  ['MQTT 2.2.1', 'PINGRESP from a client', Buffer.from([0xd0, 0]), NONE],
  ['MQTT 2.2.3', 'a remaining length of five bytes', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01]), NONE],
  ['limit', 'a PUBLISH of 256 MB, refused by its header', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), NONE],
  ['MQTT-3.3.1-4', 'PUBLISH at QoS 3', publishBytes('from/a/x', 'y', { qos: 3 }), NONE],
  ['MQTT-3.3.1-2', 'DUP at QoS 0', publishBytes('from/a/x', 'y', { flags: 0x08 }), NONE],
  [
    'MQTT-2.3.1-1',
    'PUBLISH at QoS 1 with packet id 0',
    publishBytes('from/a/x', 'y', { qos: 1, packetId: 0 }),
    NONE,
  ],
  [
    'MQTT-2.3.1-1',
    'PUBLISH at QoS 2 with packet id 0',
    publishBytes('from/a/x', 'y', { qos: 2, packetId: 0 }),
    NONE,
  ],
  ['MQTT-3.3.2-2', '# in the topic of a PUBLISH', publishBytes('from/a/#', 'y'), NONE],
  ['MQTT-3.3.2-2', '+ in the topic of a PUBLISH', publishBytes('from/a/+/x', 'y'), NONE],
  ['MQTT-4.7.3-1', 'an empty topic', publishBytes('', 'y'), NONE],
  ['MQTT-4.7.3-2', 'NUL in a topic', publishBytes('from/a/x\0', 'y'), NONE],
  ['MQTT 1.5.3', 'a line feed in a topic', publishBytes('from/a/x\n', 'y'), NONE],
  ['MQTT 1.5.3', 'DEL in a topic', publishBytes('from/a/x\u007f', 'y'), NONE],
  ['MQTT 1.5.3', 'U+009F in a topic', publishBytes('from/a/x\u009f', 'y'), NONE],
  ['MQTT-3.3.2-1', 'a surrogate in a topic', publishBytes(SURROGATE, 'y'), NONE],
  ['MQTT-3.3.2-1', 'an overlong form in a topic', publishBytes(OVERLONG, 'y'), NONE],
  ['MQTT-3.3.2-1', 'a cut character in a topic', publishBytes(CUT_SHORT, 'y'), NONE],
  ['MQTT-4.8.0-1', 'a PUBLISH without topic length', packet(0x30, [0]), NONE],
  ['MQTT-4.8.0-1', 'an empty PUBLISH', packet(0x30), NONE],
  ['MQTT-4.8.0-1', 'a topic longer than its packet', packet(0x30, [0xff, 0xff, 0x61]), NONE],
  ['MQTT-4.8.0-1', 'a PUBLISH at QoS 1 without packet id', packet(0x32, text('from/a/x'), [1]), NONE],
  ['MQTT-2.2.2-2', 'flags of PUBACK', Buffer.from([0x41, 2, 0, 1]), NONE],
  ['MQTT-2.2.2-2', 'flags of PUBREC', Buffer.from([0x52, 2, 0, 1]), NONE],
  ['MQTT-3.6.1-1', 'PUBREL without its flag', Buffer.from([0x60, 2, 0, 1]), NONE],
  ['MQTT-3.6.1-1', 'PUBREL with another flag', Buffer.from([0x66, 2, 0, 1]), NONE],
  ['MQTT-2.2.2-2', 'flags of PUBCOMP', Buffer.from([0x72, 2, 0, 1]), NONE],
  ['MQTT-4.8.0-1', 'PUBACK of three bytes', Buffer.from([0x40, 3, 0, 1, 0]), NONE],
  ['MQTT-4.8.0-1', 'PUBREL of one byte', Buffer.from([0x62, 1, 0]), NONE],
  ['MQTT-2.3.1-1', 'PUBACK with packet id 0', Buffer.from([0x40, 2, 0, 0]), NONE],
  ['MQTT-2.3.1-1', 'PUBREC with packet id 0', Buffer.from([0x50, 2, 0, 0]), NONE],
  ['MQTT-2.3.1-1', 'PUBREL with packet id 0', pubrelBytes(0), NONE],
  ['MQTT-3.8.1-1', 'SUBSCRIBE without its flag', packet(0x80, [0, 1], text('to/a/x'), [0]), NONE],
  ['MQTT-2.3.1-1', 'SUBSCRIBE with packet id 0', subscribeBytes(0, ['to/a/x', 0]), NONE],
  ['MQTT-3.8.3-3', 'SUBSCRIBE without a filter', subscribeBytes(1), NONE],
  ['MQTT-4.8.0-1', 'SUBSCRIBE without packet id', packet(0x82, [0]), NONE],
  ['MQTT-3-8.3-4', 'SUBSCRIBE at QoS 3', subscribeBytes(1, ['to/a/x', 3]), NONE],
  ['MQTT-3-8.3-4', 'reserved bits of a SUBSCRIBE option', subscribeBytes(1, ['to/a/x', 4]), NONE],
  [
    'MQTT-3-8.3-4',
    'a reserved bit in the second option only',
    subscribeBytes(1, ['to/a/x', 0], ['to/a/y', 0x81]),
    NONE,
  ],
  ['MQTT-4.8.0-1', 'a SUBSCRIBE that ends before its option', packet(0x82, [0, 1], text('to/a/x')), NONE],
  ['MQTT-4.7.3-1', 'an empty filter', subscribeBytes(1, ['', 0]), NONE],
  ['MQTT-4.7.1-2', '# within a level', subscribeBytes(1, ['to/a/x#', 0]), NONE],
  ['MQTT-4.7.1-2', '# before the last level', subscribeBytes(1, ['to/a/#/x', 0]), NONE],
  ['MQTT-4.7.1-2', 'two # in a level', subscribeBytes(1, ['to/a/##', 0]), NONE],
  ['MQTT-4.7.1-3', '+ within a level', subscribeBytes(1, ['to/a/x+', 0]), NONE],
  ['MQTT-4.7.1-3', 'two + in a level', subscribeBytes(1, ['to/a/++', 0]), NONE],
  ['MQTT-3.8.3-1', 'ill-formed UTF-8 in a filter', subscribeBytes(1, [SURROGATE, 0]), NONE],
  ['MQTT-4.7.3-2', 'NUL in a filter', subscribeBytes(1, ['to/a/\0', 0]), NONE],
  ['MQTT-3.10.1-1', 'UNSUBSCRIBE without its flag', packet(0xa0, [0, 1], text('to/a/x')), NONE],
  ['MQTT-2.3.1-1', 'UNSUBSCRIBE with packet id 0', unsubscribeBytes(0, 'to/a/x'), NONE],
  ['MQTT-3.10.3-2', 'UNSUBSCRIBE without a filter', unsubscribeBytes(1), NONE],
  ['MQTT-3.10.3-1', 'ill-formed UTF-8 in UNSUBSCRIBE', unsubscribeBytes(1, OVERLONG), NONE],
  ['MQTT-4.7.1-2', 'a bad filter in UNSUBSCRIBE', unsubscribeBytes(1, 'to/a/#/x'), NONE],
  ['MQTT-4.8.0-1', 'an UNSUBSCRIBE that ends within a filter', packet(0xa2, [0, 1, 0, 9, 0x61]), NONE],
  ['MQTT-2.2.2-2', 'flags of PINGREQ', Buffer.from([0xc1, 0]), NONE],
  ['MQTT-4.8.0-1', 'PINGREQ with a body', Buffer.from([0xc0, 1, 0]), NONE],
  ['MQTT-3.14.1-1', 'flags of DISCONNECT', Buffer.from([0xe1, 0]), NONE],
  ['MQTT-4.8.0-1', 'DISCONNECT with a body', Buffer.from([0xe0, 1, 0]), NONE],
];

async function react(client: RawClient): Promise<string> {
  await client.closed();
  return client.received.toString('hex');
}

describe('the guard, of a first packet', () => {
  for (const [statement, title, bytes, answer] of FIRST_PACKET)
    test(`[${statement}] ${answer === NONE ? CLOSED : `answers ${answer} and ${CLOSED}`}: ${title}`, async (t) => {
      const { raw, opened } = await startTestBroker(t);
      const client = raw();
      client.send(bytes);
      assert.equal(await react(client), answer);
      assert.deepEqual(opened, []);
    });
});

describe('the guard, of a later packet', () => {
  for (const [statement, title, bytes, answer] of LATER_PACKETS)
    for (const how of ['whole', 'byte by byte'])
      test(`[${statement}] ${CLOSED}: ${title}, ${how}`, async (t) => {
        const { raw, messages, opened, closed } = await startTestBroker(t);
        const client = raw();
        client.send(connectBytes());
        assert.equal(await client.takeHex(4), CONNACK_ACCEPTED);
        if (how === 'whole') client.send(bytes);
        else for (const byte of bytes) client.send([byte]);
        assert.equal(await react(client), answer);
        assert.deepEqual(messages, []);
        assert.deepEqual(closed, opened);
      });
});

describe('the guard, of packets that are refused but not forbidden', () => {
  const refused: [title: string, filter: string][] = [
    ['a filter outside the permission', 'to/b/x'],
    ['everything', '#'],
    ['a filter of eleven levels', 'to/a/3/4/5/6/7/8/9/10/11'],
    ['a filter of 257 bytes', `to/a/${'x'.repeat(252)}`],
    ['$SYS', '$SYS/#'],
    ['shared subscriptions of MQTT 5', '$share/g/to/a/x'],
  ];
  for (const [title, filter] of refused)
    test(`[MQTT-3.9.3-2] the guard answers SUBACK 0x80 to the refused filter alone: ${title}`, async (t) => {
      const { raw, broker } = await startTestBroker(t);
      const client = raw();
      client.send(connectBytes(), subscribeBytes(7, ['to/a/x', 1], [filter, 0], ['to/a/y', 2]));
      await client.take(4);
      assert.equal(await client.takeHex(7), '90050007018002');
      assert.equal(broker.subscribers('to/a/x') + broker.subscribers('to/a/y'), 2);
    });

  for (const topic of ['from/b/x', 'to/a/x', '$SYS/broker/connection/house/state', 'tele/plug/LWT'])
    test(`the guard acknowledges and drops a message on ${topic}, and takes the next one`, async (t) => {
      const refusals: unknown[] = [];
      const b = await startTestBroker(t, { hook: { onRefused: (refusal) => void refusals.push(refusal) } });
      const client = b.raw('10.0.0.9');
      const [once, twice] = [
        publishBytes(topic, 'y', { qos: 1 }),
        publishBytes(topic, 'y', { qos: 2, packetId: 2 }),
      ];
      client.send(connectBytes(), publishBytes(topic, 'y'), once, twice);
      client.send(Buffer.from([0x62, 2, 0, 2]), publishBytes('from/a/x', 'own', { qos: 1, packetId: 3 }));
      assert.equal(await client.takeHex(20), `${CONNACK_ACCEPTED}40020001500200027002000240020003`);
      assert.deepEqual(
        b.messages.map((message) => message.topic),
        ['from/a/x'],
      );
      const refusal = { what: 'publish', claimed: 'a', topic, remoteAddress: '10.0.0.9' };
      assert.deepEqual(refusals, [refusal, refusal, refusal]);
      assert.match(await b.metrics.text(), /mqtt_messages_dropped_total\{reason="not_permitted"\} 3/);
    });

  for (const [title, topic] of [
    ['of 257 bytes', `from/a/${'x'.repeat(250)}`],
    ['of eleven levels', 'from/a/3/4/5/6/7/8/9/10/11'],
  ] as const)
    test(`the guard closes the connection for a topic ${title}`, async (t) => {
      const { raw, messages } = await startTestBroker(t);
      const client = raw();
      client.send(connectBytes(), publishBytes(topic, 'y'));
      assert.equal(await react(client), CONNACK_ACCEPTED);
      assert.deepEqual(messages, []);
    });

  test('the guard closes the connection for a payload of one byte over the limit, not for one at it', async (t) => {
    const { raw, messages } = await startTestBroker(t);
    const client = raw();
    client.send(connectBytes(), publishBytes('from/a/x', Buffer.alloc(262_144), { qos: 1 }));
    assert.equal(await client.takeHex(8), `${CONNACK_ACCEPTED}40020001`);
    client.send(publishBytes('from/a/x', Buffer.alloc(262_145), { qos: 1 }));
    assert.equal(await react(client), NONE);
    assert.equal(messages.length, 1);
  });
});

describe('the guard, of packets that look odd but are right', () => {
  const right: [statement: string, title: string, bytes: Buffer, answer: string][] = [
    [
      'MQTT-1.5.3-3',
      'a byte order mark in a topic',
      publishBytes('from/a/\uFEFFx', 'y', { qos: 1 }),
      '40020001',
    ],
    ['MQTT 4.7.3', 'empty levels in a topic', publishBytes('from/a///', 'y', { qos: 1 }), '40020001'],
    [
      'MQTT 4.7.3',
      'blanks and letters of the world in a topic',
      publishBytes('from/a/Zähler 電力 🔋', 'y', { qos: 1 }),
      '40020001',
    ],
    [
      'MQTT 2.2.3',
      'a remaining length in more bytes than needed',
      Buffer.from([0xc0, 0x80, 0x80, 0x00]),
      'd000',
    ],
    ['MQTT-3.3.1-1', 'DUP at QoS 1', publishBytes('from/a/x', 'y', { qos: 1, flags: 8 }), '40020001'],
    ['MQTT-4.3.3-2', 'PUBREL of an unknown packet id', pubrelBytes(9), '70020009'],
    ['MQTT-3.10.4-5', 'UNSUBSCRIBE of what is not subscribed', unsubscribeBytes(5, 'to/b/x'), 'b0020005'],
    [
      'MQTT-3.8.4-5',
      'the same filter twice in one SUBSCRIBE',
      subscribeBytes(5, ['to/a/x', 0], ['to/a/x', 1]),
      '900400050001',
    ],
    [
      'MQTT 3.5',
      'PUBREC of a delivery that never was, then PINGREQ',
      Buffer.from([0x50, 2, 0, 9, 0xc0, 0]),
      'd000',
    ],
    [
      'MQTT 3.7',
      'PUBCOMP of a delivery that never was, then PINGREQ',
      Buffer.from([0x70, 2, 0, 9, 0xc0, 0]),
      'd000',
    ],
    [
      'MQTT 3.4',
      'PUBACK of a delivery that never was, then PINGREQ',
      Buffer.from([0x40, 2, 0, 9, 0xc0, 0]),
      'd000',
    ],
  ];
  for (const [statement, title, bytes, answer] of right)
    test(`[${statement}] the guard answers ${answer}: ${title}`, async (t) => {
      const { raw } = await startTestBroker(t);
      const client = raw();
      client.send(connectBytes());
      await client.take(4);
      client.send(bytes);
      assert.equal(await client.takeHex(answer.length / 2), answer);
    });

  test('the guard tolerates MQTT 3.1 under its own name', async (t) => {
    const { raw } = await startTestBroker(t);
    const client = raw();
    client.send(connectBytes({ name: 'MQIsdp', level: 3 }));
    assert.equal(await client.takeHex(4), CONNACK_ACCEPTED);
  });
});
