/** Parts of an announced device. */
import type { DurationMs } from '../../lib/time.ts';
import { topicMatches } from '../../lib/topic-matches.ts';

export interface Attribute {
  name: string;
  displayName: string;
  type: 'float' | 'boolean' | 'string';
  /** A code of manifests, or as it was announced where there is none. */
  unit?: string;
  /** Has no code: its symbol is the text. */
  isOwnUnit?: boolean;
  enum?: readonly string[];
  description?: string;
  deviceClass?: string;
  stateClass?: string;
}

export interface Argument {
  name: string;
  displayName: string;
  type: 'float' | 'boolean' | 'string';
  min?: number;
  max?: number;
  enum?: readonly string[];
  unit?: string;
  isSensitive?: boolean;
}

/** Whether a message on a topic is meant by an announced topic, which may have wildcards. */
export const isMeant = (announced: string, topic: string): boolean =>
  announced === topic || (hasWildcard(announced) && topicMatches(announced, topic));

export const hasWildcard = (topic: string): boolean => topic.includes('+') || topic.endsWith('#');

/** A value of an attribute from a message; undefined: none. One of another type is rejected with its reason. */
export interface Reading {
  attribute: string;
  topic: string;
  read: (payload: string) => unknown;
  /** True becomes false so long after the last message: the device reports only that something happened. */
  offAfterMs?: DurationMs;
}

export interface Command {
  name: string;
  displayName: string;
  argument?: Argument;
  topic: string;
  /** The message; undefined when the template has no value for it. */
  write: (value: unknown) => string | undefined;
}

/** A topic that says whether the device can be reached. */
export interface AvailabilityTopic {
  topic: string;
  /** Undefined: neither of the two words. */
  read: (payload: string) => boolean | undefined;
}

export interface Availability {
  topics: readonly AvailabilityTopic[];
  mode: 'all' | 'any' | 'latest';
}

/** Result for each entity of a device. */
export interface Interpreted {
  attributes: Attribute[];
  readings: Reading[];
  commands: Command[];
  availabilities: Availability[];
  /** Sentences about what was left out. */
  leftOut: string[];
}

export const PROPOSAL_STATES = ['NEW', 'ACCEPTED', 'IGNORED'] as const;
type ProposalState = (typeof PROPOSAL_STATES)[number];

/** A device that announced itself. */
export interface Proposal extends Interpreted {
  id: string;
  guestId: string;
  name: string;
  manufacturer: string | undefined;
  model: string | undefined;
  softwareVersion: string | undefined;
  state: ProposalState;
  deviceId: string | undefined;
}
