/**
 * Announcements in the manner of programs and devices that announce themselves in the format of Home Assistant: which keys
 * they use, how they group their entities, what their messages look like. Names, addresses and numbers are our own.
 */

export interface Announcement {
  maker: string;
  topic: string;
  config: Record<string, unknown>;
  /** Attributes as `name type unit`. */
  attributes?: string[];
  /** Commands as `name(argument range or choices)`. */
  commands?: string[];
  /** Topic and message → values of attributes. */
  reads?: [topic: string, message: string, values: Record<string, unknown>][];
  /** Command and value → topic and message. */
  writes?: [command: string, value: unknown, topic: string, message: string][];
  /** The sentence about what is left out. */
  refusal?: string;
}

const T = 'homeassistant';
const Z2M = (name: string, model: string) => ({
  device: { identifiers: ['zigbee2mqtt_0x00158d0001a2b3c4'], manufacturer: 'Example', model, name },
  availability: [
    { topic: 'zigbee2mqtt/bridge/state', value_template: '{{ value_json.state }}' },
    { topic: `zigbee2mqtt/${name}/availability`, value_template: '{{ value_json.state }}' },
  ],
  availability_mode: 'all',
  origin: { name: 'Zigbee2MQTT', sw: '2.1.0', url: 'https://www.zigbee2mqtt.io' },
});
const ESPHOME = {
  dev: { ids: 'a1b2c3d4e5f6', name: 'pump', sw: 'esphome v2025.1', mdl: 'esp32dev', mf: 'espressif' },
  avty_t: 'pump/status',
};
const TASMOTA = {
  dev: { ids: ['AABBCC'], name: 'Washer', mf: 'Tasmota', mdl: 'Plug', sw: '12.5.0(tasmota)' },
  avty_t: 'tele/washer/LWT',
  pl_avail: 'Online',
  pl_not_avail: 'Offline',
};
export const MAKERS_OF_LAMPS: Announcement[] = [
  {
    maker: 'zigbee2mqtt temperature sensor',
    topic: `${T}/sensor/0x00158d0001a2b3c4/temperature/config`,
    config: {
      ...Z2M('Cellar', 'WSDCGQ11LM'),
      name: null,
      device_class: 'temperature',
      state_class: 'measurement',
      state_topic: 'zigbee2mqtt/Cellar',
      unit_of_measurement: '°C',
      value_template: '{{ value_json.temperature }}',
      unique_id: '0x00158d0001a2b3c4_temperature_zigbee2mqtt',
    },
    attributes: ['temperature float Cel'],
    reads: [
      ['zigbee2mqtt/Cellar', '{"temperature":21.4,"humidity":48}', { temperature: 21.4 }],
      ['zigbee2mqtt/Cellar', '{"humidity":48}', {}],
    ],
  },
  {
    maker: 'zigbee2mqtt contact',
    topic: `${T}/binary_sensor/0x00158d0001a2b3c4/contact/config`,
    config: {
      ...Z2M('Door', 'MCCGQ11LM'),
      device_class: 'door',
      payload_off: true,
      payload_on: false,
      state_topic: 'zigbee2mqtt/Door',
      value_template: '{{ value_json.contact }}',
    },
    attributes: ['contact boolean'],
    reads: [
      ['zigbee2mqtt/Door', '{"contact":false}', { contact: true }],
      ['zigbee2mqtt/Door', '{"contact":true}', { contact: false }],
    ],
  },
  {
    maker: 'zigbee2mqtt plug',
    topic: `${T}/switch/0x00158d0001a2b3c4/switch/config`,
    config: {
      ...Z2M('TV corner', 'TS011F'),
      command_topic: 'zigbee2mqtt/TV corner/set',
      name: null,
      payload_off: 'OFF',
      payload_on: 'ON',
      state_topic: 'zigbee2mqtt/TV corner',
      value_template: '{{ value_json.state }}',
    },
    attributes: ['switch boolean'],
    commands: ['set_switch(on)'],
    reads: [['zigbee2mqtt/TV corner', '{"state":"ON","power":12}', { switch: true }]],
    writes: [['set_switch', false, 'zigbee2mqtt/TV corner/set', 'OFF']],
  },
  {
    maker: 'zigbee2mqtt power-on behaviour',
    topic: `${T}/select/0x00158d0001a2b3c4/power_outage_memory/config`,
    config: {
      ...Z2M('TV corner', 'TS011F'),
      command_topic: 'zigbee2mqtt/TV corner/set/power_outage_memory',
      name: 'Power outage memory',
      options: ['on', 'off', 'restore'],
      state_topic: 'zigbee2mqtt/TV corner',
      value_template: '{{ value_json.power_outage_memory }}',
    },
    attributes: ['power_outage_memory string on|off|restore'],
    commands: ['set_power_outage_memory(option on|off|restore)'],
    writes: [
      ['set_power_outage_memory', 'restore', 'zigbee2mqtt/TV corner/set/power_outage_memory', 'restore'],
    ],
  },
  {
    maker: 'zigbee2mqtt lamp',
    topic: `${T}/light/0x00158d0001a2b3c4/light/config`,
    config: {
      ...Z2M('Desk', 'LED1545G12'),
      brightness: true,
      brightness_scale: 254,
      command_topic: 'zigbee2mqtt/Desk/set',
      effect: true,
      max_mireds: 454,
      min_mireds: 250,
      name: null,
      schema: 'json',
      state_topic: 'zigbee2mqtt/Desk',
      supported_color_modes: ['color_temp'],
    },
    attributes: ['light boolean', 'light_brightness float %', 'light_color_temp float'],
    commands: ['set_light(on)', 'set_light_brightness(value 0..100)', 'set_light_color_temp(value 250..454)'],
    reads: [
      [
        'zigbee2mqtt/Desk',
        '{"state":"ON","brightness":127,"color_temp":300}',
        { light: true, light_brightness: 50, light_color_temp: 300 },
      ],
    ],
    writes: [
      ['set_light_brightness', 50, 'zigbee2mqtt/Desk/set', '{"state":"ON","brightness":127}'],
      ['set_light', false, 'zigbee2mqtt/Desk/set', '{"state":"OFF"}'],
    ],
  },
  {
    maker: 'zigbee2mqtt thermostat',
    topic: `${T}/climate/0x00158d0001a2b3c4/climate/config`,
    config: {
      ...Z2M('Bath', 'SPZB0001'),
      action_template:
        "{% set values = {None:None,'idle':'idle','heat':'heating'} %}{{ values[value_json.running_state] }}",
      action_topic: 'zigbee2mqtt/Bath',
      current_temperature_template: '{{ value_json.local_temperature }}',
      current_temperature_topic: 'zigbee2mqtt/Bath',
      max_temp: '30',
      min_temp: '5',
      mode_command_topic: 'zigbee2mqtt/Bath/set/system_mode',
      mode_state_template: '{{ value_json.system_mode }}',
      mode_state_topic: 'zigbee2mqtt/Bath',
      modes: ['off', 'auto', 'heat'],
      name: null,
      temp_step: 0.5,
      temperature_command_topic: 'zigbee2mqtt/Bath/set/occupied_heating_setpoint',
      temperature_state_template: '{{ value_json.occupied_heating_setpoint }}',
      temperature_state_topic: 'zigbee2mqtt/Bath',
      temperature_unit: 'C',
    },
    attributes: [
      'climate_current_temperature float Cel',
      'climate_action string',
      'climate_target_temperature float Cel',
      'climate_mode string off|auto|heat',
    ],
    commands: ['set_climate_temperature(value 5..30)', 'set_climate_mode(option off|auto|heat)'],
    reads: [
      [
        'zigbee2mqtt/Bath',
        '{"local_temperature":20.5,"running_state":"heat","occupied_heating_setpoint":22,"system_mode":"auto"}',
        {
          climate_current_temperature: 20.5,
          climate_action: 'heating',
          climate_target_temperature: 22,
          climate_mode: 'auto',
        },
      ],
    ],
    writes: [['set_climate_temperature', 21.5, 'zigbee2mqtt/Bath/set/occupied_heating_setpoint', '21.5']],
  },
  {
    maker: 'zigbee2mqtt blind',
    topic: `${T}/cover/0x00158d0001a2b3c4/cover/config`,
    config: {
      ...Z2M('Blind', 'E1757'),
      command_topic: 'zigbee2mqtt/Blind/set',
      position_template: '{{ value_json.position }}',
      position_topic: 'zigbee2mqtt/Blind',
      set_position_template: '{ "position": {{ position }} }',
      set_position_topic: 'zigbee2mqtt/Blind/set',
      name: null,
    },
    attributes: ['cover_position float %'],
    commands: ['open_cover()', 'close_cover()', 'stop_cover()', 'set_cover_position(value 0..100)'],
    reads: [['zigbee2mqtt/Blind', '{"position":35}', { cover_position: 35 }]],
    writes: [
      ['set_cover_position', 70, 'zigbee2mqtt/Blind/set', '{ "position": 70 }'],
      ['stop_cover', undefined, 'zigbee2mqtt/Blind/set', 'STOP'],
    ],
  },
  {
    maker: 'zigbee2mqtt number',
    topic: `${T}/number/0x00158d0001a2b3c4/occupancy_timeout/config`,
    config: {
      ...Z2M('Motion', 'RTCGQ14LM'),
      command_topic: 'zigbee2mqtt/Motion/set/occupancy_timeout',
      max: 300,
      min: 2,
      name: 'Occupancy timeout',
      state_topic: 'zigbee2mqtt/Motion',
      unit_of_measurement: 's',
      value_template: '{{ value_json.occupancy_timeout }}',
    },
    attributes: ['occupancy_timeout float s'],
    commands: ['set_occupancy_timeout(value 2..300)'],
  },
  {
    maker: 'zigbee2mqtt battery',
    topic: `${T}/sensor/0x00158d0001a2b3c4/battery/config`,
    config: {
      ...Z2M('Motion', 'RTCGQ14LM'),
      device_class: 'battery',
      state_class: 'measurement',
      state_topic: 'zigbee2mqtt/Motion',
      unit_of_measurement: '%',
      value_template: '{{ value_json.battery }}',
    },
    attributes: ['battery float %'],
  },
  {
    maker: 'zigbee2mqtt link to the device',
    topic: `${T}/device_automation/0x00158d0001a2b3c4/action_single/config`,
    config: {
      ...Z2M('Button', 'WXKG11LM'),
      automation_type: 'trigger',
      payload: 'single',
      subtype: 'single',
      topic: 'zigbee2mqtt/Button/action',
      type: 'action',
    },
    refusal:
      '"Action single" (device_automation) is left out: the gateway has no use for "device_automation".',
  },
  {
    maker: 'ESPHome sensor',
    topic: `${T}/sensor/pump/flow/config`,
    config: {
      ...ESPHOME,
      name: 'Flow',
      uniq_id: 'ESPsensorflow',
      unit_of_meas: 'L/min',
      stat_cla: 'measurement',
      stat_t: 'pump/sensor/flow/state',
    },
    attributes: ['flow float L/min'],
    reads: [
      ['pump/sensor/flow/state', '12.50', { flow: 12.5 }],
      ['pump/sensor/flow/state', 'nan', {}],
    ],
  },
  {
    maker: 'ESPHome switch',
    topic: `${T}/switch/pump/relay/config`,
    config: {
      ...ESPHOME,
      name: 'Relay',
      cmd_t: 'pump/switch/relay/command',
      stat_t: 'pump/switch/relay/state',
    },
    attributes: ['relay boolean'],
    commands: ['set_relay(on)'],
    writes: [['set_relay', true, 'pump/switch/relay/command', 'ON']],
  },
  {
    maker: 'ESPHome binary sensor',
    topic: `${T}/binary_sensor/pump/float/config`,
    config: { ...ESPHOME, name: 'Float', dev_cla: 'moisture', stat_t: 'pump/binary_sensor/float/state' },
    attributes: ['float boolean'],
    reads: [['pump/binary_sensor/float/state', 'OFF', { float: false }]],
  },
  {
    maker: 'ESPHome text sensor',
    topic: `${T}/sensor/pump/wifi_ssid/config`,
    config: { ...ESPHOME, name: 'WiFi SSID', ent_cat: 'diagnostic', stat_t: 'pump/sensor/wifi_ssid/state' },
    attributes: ['wifi_ssid string'],
    reads: [['pump/sensor/wifi_ssid/state', 'home', { wifi_ssid: 'home' }]],
  },
  {
    maker: 'ESPHome button',
    topic: `${T}/button/pump/restart/config`,
    config: { ...ESPHOME, name: 'Restart', dev_cla: 'restart', cmd_t: 'pump/button/restart/command' },
    commands: ['press_restart()'],
    writes: [['press_restart', undefined, 'pump/button/restart/command', 'PRESS']],
  },
  {
    maker: 'ESPHome number',
    topic: `${T}/number/pump/target/config`,
    config: {
      ...ESPHOME,
      name: 'Target',
      min: 0.5,
      max: 3.5,
      step: 0.1,
      unit_of_meas: 'bar',
      cmd_t: 'pump/number/target/command',
      stat_t: 'pump/number/target/state',
    },
    attributes: ['target float bar'],
    commands: ['set_target(value 0.5..3.5)'],
    writes: [['set_target', 2.5, 'pump/number/target/command', '2.5']],
  },
  {
    maker: 'ESPHome fan',
    topic: `${T}/fan/pump/fan/config`,
    config: {
      ...ESPHOME,
      name: 'Fan',
      stat_t: 'pump/fan/fan/state',
      cmd_t: 'pump/fan/fan/command',
      pct_stat_t: 'pump/fan/fan/speed_level/state',
      pct_cmd_t: 'pump/fan/fan/speed_level/command',
      spd_rng_max: 4,
    },
    attributes: ['fan boolean', 'fan_speed float %'],
    commands: ['set_fan(on)', 'set_fan_speed(value 0..100)'],
    reads: [['pump/fan/fan/speed_level/state', '2', { fan_speed: 50 }]],
    writes: [['set_fan_speed', 75, 'pump/fan/fan/speed_level/command', '3']],
  },
  {
    maker: 'ESPHome lock',
    topic: `${T}/lock/pump/box/config`,
    config: { ...ESPHOME, name: 'Box', stat_t: 'pump/lock/box/state', cmd_t: 'pump/lock/box/command' },
    attributes: ['box boolean'],
    commands: ['lock_box()', 'unlock_box()'],
    reads: [['pump/lock/box/state', 'LOCKED', { box: true }]],
  },
  {
    maker: 'ESPHome event',
    topic: `${T}/event/pump/bell/config`,
    config: { ...ESPHOME, name: 'Bell', stat_t: 'pump/event/bell/state', evt_typ: ['press'] },
    refusal: '"Bell" (event) is left out: the gateway has no use for "event".',
  },
  {
    maker: 'Tasmota energy',
    topic: `${T}/sensor/AABBCC_ENERGY_Power/config`,
    config: {
      ...TASMOTA,
      name: 'Washer ENERGY Power',
      stat_t: 'tele/washer/SENSOR',
      uniq_id: 'AABBCC_ENERGY_Power',
      dev_cla: 'power',
      unit_of_meas: 'W',
      frc_upd: true,
      val_tpl: "{{value_json['ENERGY'].Power}}",
    },
    attributes: ['energy_power float W'],
    reads: [
      [
        'tele/washer/SENSOR',
        '{"Time":"2026-03-01T08:00:00","ENERGY":{"Power":1850,"Total":3.1}}',
        { energy_power: 1850 },
      ],
      ['tele/washer/SENSOR', '{"Time":"2026-03-01T08:00:00"}', {}],
    ],
  },
  {
    maker: 'Tasmota relay',
    topic: `${T}/switch/AABBCC_RL_1/config`,
    config: {
      ...TASMOTA,
      '~': 'washer',
      name: 'Relay',
      stat_t: 'tele/washer/STATE',
      cmd_t: 'cmnd/washer/POWER',
      val_tpl: '{{value_json.POWER}}',
      pl_off: 'OFF',
      pl_on: 'ON',
    },
    attributes: ['rl_1 boolean'],
    commands: ['set_rl_1(on)'],
    writes: [['set_rl_1', true, 'cmnd/washer/POWER', 'ON']],
  },
  {
    maker: 'Tasmota status',
    topic: `${T}/sensor/AABBCC_status/config`,
    config: {
      ...TASMOTA,
      name: 'status',
      stat_t: 'tele/washer/HASS_STATE',
      unit_of_meas: '%',
      val_tpl: '{{value_json.RSSI}}',
    },
    attributes: ['status_value float %'],
  },
];
