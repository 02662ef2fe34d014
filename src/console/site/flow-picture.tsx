/** The present power flows around the house: power by width, direction by arrow and word, and a drop for each new reading. */
import {
  directionOf,
  doingOf,
  lateText,
  type PowerNow,
  powerText,
  type Role,
  type RoleNow,
} from './energy.ts';
import { type Curve, useDrops } from './flow-drops.ts';
import { supplyOf } from './flow-sentence.ts';
import { ROLE_ICONS as ICONS } from './role-icons.ts';
import { say } from '../words/index.ts';

type Point = Curve['from'];

/** Part of the plane that is shown; longer with a role below the house. */
const STAGE = { left: 12, top: 0, width: 456, height: 396, longHeight: 458 };
const HOUSE = { x: 240, y: 208 };
const HOUSE_RADIUS = 64;
const RADIUS = 37;
/** The ends of a curve are found to so many parts of it. */
const CURVE_STEPS = 100;

const PLACES: Readonly<Record<Exclude<Role, 'load'>, Point>> = {
  pv: { x: 240, y: 44 },
  generator: { x: 96, y: 44 },
  grid: { x: 72, y: 178 },
  electrolyser: { x: 240, y: 366 },
  battery: { x: 122, y: 306 },
  ev_charger: { x: 408, y: 178 },
  heat_pump: { x: 358, y: 306 },
};

type NodeNow = RoleNow & { role: Exclude<Role, 'load'> };
const isNode = (now: RoleNow): now is NodeNow => now.role !== 'load';

export function FlowPicture({ power }: { power: PowerNow }) {
  const most = Math.max(1_000, ...power.roles.map(({ power_w: powerW }) => Math.abs(powerW ?? 0)));
  const nodes = power.roles.filter(isNode);
  const flowing = nodes.filter((now) => directionOf(now) !== 0);
  const house = power.roles.find(({ role }) => role === 'load');
  const isLong = nodes.some(({ role }) => role === 'electrolyser');
  const height = isLong ? STAGE.longHeight : STAGE.height;
  const stage = useDrops(
    power.at,
    flowing.map((now) => travelOf(now, height)),
  );
  return (
    <figure class={isLong ? 'flow long' : 'flow'} data-test="energy-flow">
      <div class="flow-stage" ref={stage}>
        <svg
          viewBox={`${STAGE.left} ${STAGE.top} ${STAGE.width} ${height}`}
          role="group"
          aria-label={say.site.whatFlows}
        >
          {nodes.map((now) => (
            <River now={now} most={most} key={now.role} />
          ))}
          <House now={house} power={power} />
          {nodes.map((now) => (
            <Node now={now} power={power} key={now.role} />
          ))}
        </svg>
        {flowing.map(({ role }) => (
          <i class={`drop-place ${role}`} key={role} aria-hidden="true" />
        ))}
      </div>
    </figure>
  );
}

/** From the edge of a place to the edge of the house; straight where its middle lies between them. */
function curveOf(role: NodeNow['role']): Curve {
  const from = PLACES[role];
  const middle = { x: (from.x + HOUSE.x) / 2, y: from.x === HOUSE.x ? (from.y + HOUSE.y) / 2 : HOUSE.y };
  const whole = { from, by: middle, to: HOUSE };
  const isOutside = (t: number, { x, y }: Point, radius: number): boolean => {
    const on = pointOn(whole, t);
    return Math.hypot(on.x - x, on.y - y) >= radius - 2;
  };
  const steps = Array.from({ length: CURVE_STEPS + 1 }, (_, step) => step / CURVE_STEPS);
  const begin = steps.find((t) => isOutside(t, from, RADIUS)) ?? 0;
  const end = steps.findLast((t) => isOutside(t, HOUSE, HOUSE_RADIUS)) ?? 1;
  return between(whole, begin, end);
}

const mix = (a: Point, b: Point, t: number): Point => ({
  x: a.x + (b.x - a.x) * t,
  y: a.y + (b.y - a.y) * t,
});

function pointOn({ from, by, to }: Curve, t: number): Point {
  return mix(mix(from, by, t), mix(by, to, t), t);
}

/** The part of a curve between two of its points. */
function between(curve: Curve, begin: number, end: number): Curve {
  return {
    from: pointOn(curve, begin),
    by: mix(mix(curve.from, curve.by, begin), mix(curve.by, curve.to, begin), end),
    to: pointOn(curve, end),
  };
}

/** The way of a drop in the direction of the energy, in parts of the stage. */
function travelOf(now: NodeNow, height: number): Curve {
  const inParts = ({ x, y }: Point): Point => ({
    x: (x - STAGE.left) / STAGE.width,
    y: (y - STAGE.top) / height,
  });
  const curve = curveOf(now.role);
  const [begin, by, end] = [inParts(curve.from), inParts(curve.by), inParts(curve.to)];
  return directionOf(now) > 0 ? { from: begin, by, to: end } : { from: end, by, to: begin };
}

function River({ now, most }: { now: NodeNow; most: number }) {
  const direction = directionOf(now);
  const curve = curveOf(now.role);
  const { from, by, to } = curve;
  const line = `M${from.x} ${from.y}Q${by.x} ${by.y} ${to.x} ${to.y}`;
  const middle = pointOn(curve, 0.5);
  const angle = (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI + (direction < 0 ? 180 : 0);
  return (
    <g class={`flow-line ${now.role} ${direction === 0 ? 'idle' : ''}`}>
      {direction !== 0 && (
        <path class="bed" d={line} stroke-width={4 + 14 * Math.sqrt(Math.abs(now.power_w ?? 0) / most)} />
      )}
      <path class="core" d={line} />
      {direction !== 0 && (
        <g class="arrow" transform={`translate(${middle.x} ${middle.y}) rotate(${angle})`}>
          <circle r="12" />
          <path d="M-5 0H5M1 -4.500 5.500 0 1 4.500" />
        </g>
      )}
    </g>
  );
}

/** The names of what a place stands for, in the visible order, so that speech control finds the label. */
function wordsOf(now: RoleNow, power: PowerNow) {
  const isKnown = now.power_w !== null;
  const shown = isKnown ? powerText(now.power_w ?? 0) : { text: '–', unit: '' };
  const charge = now.state_of_charge_percent;
  const name = say.site.role[now.role];
  const late = isKnown ? lateText(now, power) : undefined;
  const doing = late ?? doingOf(now);
  const amount = `${shown.text} ${shown.unit}`.trim();
  const said =
    charge === null ? [name, amount, doing] : [name, doing, amount, say.site.chargedTo(Math.round(charge))];
  if (late !== undefined) said.push(doingOf(now));
  // The icon says what it is, and the arrow whether it gives or takes.
  const isUsual = isKnown && late === undefined && now.reason === null;
  const tellsDoing = !isUsual || now.role === 'battery' || now.role === 'grid';
  return { shown, charge, isName: !tellsDoing, label: tellsDoing ? doing : name, said: said.join(', ') };
}

/** Target of the link of a place: its device, if it has one only. */
function Place({
  now,
  power,
  said,
  children,
}: {
  now: RoleNow;
  power: PowerNow;
  said: string;
  children: preact.ComponentChildren;
}) {
  const own = power.sources.filter(({ role }) => role === now.role);
  const devices = [...new Set(own.map(({ device_id: id }) => id))];
  const kind = `flow-node ${now.role} ${now.power_w === null ? 'unknown' : directionOf(now) === 0 ? 'idle' : ''}`;
  return devices.length === 1 ? (
    <a class={kind} href={`#/devices/${devices[0]}`} aria-label={said}>
      {children}
    </a>
  ) : (
    <g class={kind} role="img" aria-label={said}>
      {children}
    </g>
  );
}

/** How much, and what it is or does: in the order of the label, so that speech control finds what is read. */
function Texts({
  x,
  y,
  now,
  isMain = false,
}: Point & {
  now: Pick<ReturnType<typeof wordsOf>, 'shown' | 'charge' | 'isName' | 'label'>;
  isMain?: boolean;
}) {
  const { shown, charge, isName, label } = now;
  const isFirst = isName || charge !== null;
  const name = (
    <text class="name" x={x} y={y + 20}>
      {label}
    </text>
  );
  return (
    <>
      {isFirst && name}{' '}
      <text class={isMain ? 'power main' : 'power'} x={x} y={y}>
        {shown.text}{' '}
        <tspan class="unit" dx="-2">
          {shown.unit}
        </tspan>
      </text>{' '}
      {!isFirst && name}
    </>
  );
}

function Node({ now, power }: { now: NodeNow; power: PowerNow }) {
  const { x, y } = PLACES[now.role];
  const words = wordsOf(now, power);
  const { charge } = words;
  // Beside the topmost place, whose line goes down.
  const isBeside = now.role === 'pv';
  const text = isBeside ? { x: x + RADIUS + 10, y } : { x, y: y + RADIUS + 22 };
  return (
    <Place now={now} power={power} said={words.said}>
      <circle class="disc" cx={x} cy={y} r={RADIUS} />
      {charge !== null && <Level x={x} y={y} percent={charge} />}
      <circle class="rim" cx={x} cy={y} r={RADIUS} />
      <path
        class="icon"
        d={ICONS[now.role]}
        transform={
          charge === null
            ? `translate(${x - 18} ${y - 18}) scale(1.5)`
            : `translate(${x - 11} ${y - 29}) scale(.92)`
        }
      />
      <g class={isBeside ? 'beside' : ''}>
        <Texts x={text.x} y={text.y} now={words} />
      </g>
      {charge !== null && (
        <text class="charge" x={x} y={y + 17}>
          {Math.round(charge)} %
        </text>
      )}
    </Place>
  );
}

/** How full it is, as in a glass. */
function Level({ x, y, percent }: Point & { percent: number }) {
  const part = Math.min(1, Math.max(0, percent / 100));
  const depth = 2 * RADIUS * part;
  const surfaceY = y + RADIUS - depth;
  const half = Math.sqrt(Math.max(0, RADIUS ** 2 - (surfaceY - y) ** 2));
  return (
    <path
      class="level"
      d={`M${x - half} ${surfaceY}A${RADIUS} ${RADIUS} 0 ${part > 0.5 ? 1 : 0} 0 ${x + half} ${surfaceY}z`}
    />
  );
}

/** The house, whose ring says where its present power comes from. */
function House({ now, power }: { now: RoleNow | undefined; power: PowerNow }) {
  const { x, y } = HOUSE;
  const disc = (
    <>
      <circle class="disc" cx={x} cy={y} r={HOUSE_RADIUS} />
      <Ring power={power} />
      <path class="icon" d={ICONS.load} transform={`translate(${x - 17} ${y - 46}) scale(1.42)`} />
    </>
  );
  if (!now) return <g class="flow-node load idle">{disc}</g>;
  const words = wordsOf(now, power);
  return (
    <Place now={now} power={power} said={words.said}>
      {disc}
      <Texts x={x} y={y + 20} now={words} isMain />
    </Place>
  );
}

function Ring({ power }: { power: PowerNow }) {
  const { x, y } = HOUSE;
  const supply = supplyOf(power);
  const whole = supply.reduce((sum, { powerW }) => sum + powerW, 0);
  let begin = 0;
  return (
    <g class="ring" transform={`rotate(-90 ${x} ${y})`}>
      <circle class="none" cx={x} cy={y} r={HOUSE_RADIUS} />
      {supply.map(({ role, powerW }) => {
        const share = (100 * powerW) / whole;
        const from = begin;
        begin += share;
        return (
          <circle
            key={role}
            class={role}
            cx={x}
            cy={y}
            r={HOUSE_RADIUS}
            pathLength={100}
            stroke-dasharray={`${share} 100`}
            stroke-dashoffset={-from}
          />
        );
      })}
    </g>
  );
}
