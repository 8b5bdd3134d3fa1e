import { Failed, type FailedProps } from "@hearth-and-keep/page-design";

export type FailedRequestProps = Pick<FailedProps, "onRetry"> & {
  readonly problem: { readonly message: string; readonly nextStep: string };
};

/** The server did not do what was asked, in its words and with the next step. */
export function FailedRequest({ problem: { message, nextStep }, ...rest }: FailedRequestProps) {
  return <Failed {...rest} text={message} nextStep={nextStep} />;
}
