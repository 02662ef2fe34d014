/** Devices are known by what they say: each template by the images of its own devices, and by nothing of others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Evidence, parseTemplate, questionsOf, strengthOf, type Template } from '#library';
import { type DeviceImage, imageMemory } from '../../scripts/simulate/device-image.ts';
import { imagesOf, templateIds, templateText } from './library-files.ts';

const templates = new Map(
  templateIds.map((id) => [id, parseTemplate(templateText(id)).template ?? assert.fail(id)]),
);

const templateOf = (recognise: string, maker = 'Acme'): Template =>
  parseTemplate(
    `template: device/1\nname: N\nmaker: ${maker}\nproducts: [N]\ncategory: sensors\nsources: [manual]\n` +
      `verified: one source\nmodbus: { transports: [tcp] }\nvalues: { power: { sunspec: '203:W' } }\n` +
      `recognise: [${recognise}]\n`,
  ).template ?? assert.fail(recognise);

const register = (words: readonly number[], start = 4): Evidence => ({
  registers: [{ kind: 'input', start, count: words.length, words }],
});

describe('a device', () => {
  test('a device is recognised by a register of the value, range or text that its template names, and by no other', () => {
    const rows: [recognise: string, evidence: Evidence, isKnown: boolean][] = [
      ['register: { input: 4, equals: [7, 8] }', register([8]), true],
      ['register: { input: 4, equals: [7, 8] }', register([9]), false],
      ['register: { input: 4, equals: [7, 8] }', register([8], 5), false],
      ['register: { input: 4, between: [45, 65], as: f32 }', register([0x4248, 0x0000]), true],
      ['register: { input: 4, between: [45, 65], as: f32 }', register([0x0000, 0x4248]), false],
      ['register: { input: 4, equals: [65538], as: u32, word_order: low_first }', register([2, 1]), true],
      ['register: { input: 4, equals: [-2], as: i16 }', register([0xfffe]), true],
      ['register: { input: 4, begins_with: AC, as: string2 }', register([0x4163, 0x6d65]), true],
      ['register: { input: 4, begins_with: AC, as: string2 }', register([0x6163, 0]), true],
      ['register: { input: 4, begins_with: AC, as: string2 }', register([0, 0]), false],
    ];
    for (const [recognise, evidence, isKnown] of rows)
      assert.equal(strengthOf(templateOf(recognise), evidence) > 0, isKnown, recognise);
  });

  test('a device is recognised by its SunSpec maker, by its models where any maker fits, and by its identification', () => {
    const any = templateOf("sunspec: { maker: '*' }");
    assert.ok(strengthOf(any, { sunspec: { manufacturer: 'Somebody' }, models: [1, 203] }) > 0);
    assert.equal(strengthOf(any, { sunspec: { manufacturer: 'Somebody' }, models: [1, 103] }), 0);
    const acme = templateOf('sunspec: { maker: acme, model: H }');
    assert.ok(strengthOf(acme, { sunspec: { manufacturer: 'ACME', model: 'H5' } }) > 0);
    assert.equal(strengthOf(acme, { sunspec: { manufacturer: 'ACME', model: 'G5' } }), 0);
    const models = [1, 203];
    assert.ok(
      strengthOf(acme, { sunspec: { manufacturer: 'ACME', model: 'H5' }, models }) >
        strengthOf(any, { models }),
    );
    assert.equal(strengthOf(acme, { sunspec: { manufacturer: 'ACME', model: 'H5' }, models: [1, 103] }), 0);
    const gen24 = templates.get('fronius/gen24-modbus') ?? assert.fail();
    const inverter = templates.get('sunspec/inverter') ?? assert.fail();
    const fronius = (...numbers: number[]): Evidence => ({
      sunspec: { manufacturer: 'Fronius' },
      models: [1, ...numbers],
    });
    assert.ok(strengthOf(gen24, fronius(103, 124, 160)) > strengthOf(inverter, fronius(103, 124, 160)));
    assert.ok(strengthOf(gen24, fronius(103)) < strengthOf(inverter, fronius(103)));
    assert.equal(strengthOf(gen24, fronius(203)), 0);
    const known = templateOf('identification: { vendor: Acme, product: H }');
    assert.ok(strengthOf(known, { identification: { vendor: 'Acme', model_name: 'H5' } }) > 0);
    assert.equal(strengthOf(known, { identification: { vendor: 'Acme' } }), 0);
  });

  test('a device is not recognised by a number when it names another maker', () => {
    const acme = templateOf('register: { input: 4, equals: [7] }');
    const stranger = { ...register([7]), identification: { vendor: 'Somebody' } };
    assert.equal(strengthOf(acme, stranger), 0);
    assert.ok(strengthOf(acme, { ...stranger, identification: { vendor: 'ACME Ltd' } }) > 0);
  });

  test('a device is recognised by a field of its HTTP interface, and by its announcement', () => {
    const shelly = templateOf('http: { path: /shelly, field: "a[0].type", equals: [SHEM-3] }');
    assert.ok(strengthOf(shelly, { answers: { '/shelly': '{"a":[{"type":"SHEM-3"}]}' } }) > 0);
    for (const text of ['{"a":[{"type":"SHEM"}]}', '{"a":[]}', '<html>', 'null'])
      assert.equal(strengthOf(shelly, { answers: { '/shelly': text } }), 0, text);
    const ofAnyModel = templateOf('http: { path: /shelly, field: gen, equals: [2, 3] }');
    const ofOneModel = templateOf('http: { path: /shelly, field: model, begins_with: S3PM }');
    const meter = { answers: { '/shelly': '{"gen":3,"model":"S3PM-001PCEU16"}' } };
    assert.ok(strengthOf(ofOneModel, meter) > strengthOf(ofAnyModel, meter));
    assert.ok(strengthOf(ofAnyModel, meter) > 0);
    const announced = templateOf('mdns: { service: _shelly._tcp, name: shellypro }');
    assert.ok(strengthOf(announced, { services: [{ type: '_shelly._tcp', name: 'ShellyPro3EM-01' }] }) > 0);
    assert.equal(strengthOf(announced, { services: [{ type: '_shelly._tcp', name: 'shellyplug' }] }), 0);
  });
});

/** What an image would answer to the questions of all templates. */
function evidenceOf(image: DeviceImage, isLowFirst: boolean): Evidence {
  if (image.answers)
    return {
      answers: Object.fromEntries(
        Object.entries(image.answers).map(([path, said]) => [
          path.replace(/^GET /, ''),
          typeof said === 'string' ? said : JSON.stringify(said),
        ]),
      ),
    };
  const memory = imageMemory(Object.values(image.units ?? { 1: image.registers ?? {} })[0] ?? {}, isLowFirst);
  const reads = [...templates.values()].flatMap((template) => questionsOf(template).reads);
  return {
    registers: reads.flatMap((read) => {
      const words = Array.from({ length: read.count }, (_, index) =>
        memory.get(`${read.kind} ${read.start + index}`),
      );
      return words.includes(undefined) ? [] : [{ ...read, words: words as number[] }];
    }),
  };
}

describe('the image of a device', () => {
  for (const [id, template] of templates) {
    const asked = questionsOf(template);
    if (asked.reads.length === 0 && asked.paths.length === 0) continue;
    test(`the image of ${id} is recognised by its own template, and fully by no other`, () => {
      const [image] = imagesOf(id);
      if (!image) assert.fail();
      const evidence = evidenceOf(image, template.modbus?.word_order === 'low_first');
      const saysSomething =
        asked.paths.some((path) => path in (evidence.answers ?? {})) ||
        asked.reads.some((read) =>
          evidence.registers?.some((one) => one.kind === read.kind && one.start === read.start),
        );
      if (!saysSomething) return;
      const own = strengthOf(template, evidence);
      const stronger = [...templates].filter(([, other]) => strengthOf(other, evidence) > own);
      assert.deepEqual([own > 0, stronger.map(([other]) => other)], [true, []]);
    });
  }
});
