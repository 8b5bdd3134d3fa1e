export type CodeHostingApplication = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where answers go when a request names no other address, and the root of the addresses it may name. */
  readonly callbackUrl: string;
};

export type Applications = {
  register(application: CodeHostingApplication): void;
  find(clientId: string): CodeHostingApplication | undefined;
};

export function keepApplications(initial: readonly CodeHostingApplication[]): Applications {
  const applications = new Map(initial.map((application) => [application.clientId, application]));
  return {
    register: (application) => void applications.set(application.clientId, application),
    find: (clientId) => applications.get(clientId),
  };
}
