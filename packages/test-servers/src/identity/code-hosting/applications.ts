export type CodeHostingApplication = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The default redirect URI, and the root of the URIs that a request may name. */
  readonly callbackUrl: string;
};

export type Applications = {
  register(application: CodeHostingApplication): void;
  find(clientId: string): CodeHostingApplication | undefined;
};

export function createApplications(initial: readonly CodeHostingApplication[]): Applications {
  const applications = new Map(initial.map((application) => [application.clientId, application]));
  return {
    register: (application) => void applications.set(application.clientId, application),
    find: (clientId) => applications.get(clientId),
  };
}
