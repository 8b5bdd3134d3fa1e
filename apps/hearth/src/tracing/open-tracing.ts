/**
 * @module
 * OpenTelemetry spans of inference requests, by the semantic conventions for generative AI. A span is written when its
 * request has ended, from the same fields as its log line: never from prompts or outputs. Spans wait in a bounded buffer
 * and are dropped when the collector does not keep up, so tracing never delays or fails a request.
 * Imported only where an endpoint is configured, because it loads the SDK.
 */
import type { RequestHead, RequestRecord } from "@hearth-and-keep/http-service";
import { defaultTextMapGetter, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import manifest from "../../package.json" with { type: "json" };
import { describePhases, describeRequest } from "./describe-request.ts";

export type Tracing = {
  /** Remembers the trace that the client of a request has begun (W3C Trace Context). */
  readonly continueTrace: (head: Pick<RequestHead, "headers" | "addLogFields">) => void;
  /** Returns fields for the log line of the request: the id of its trace, if it has a span. Never throws. */
  readonly recordRequest: (request: RequestRecord) => { readonly traceId?: string };
};

export type TracingOptions = {
  /** Base URL of an OTLP collector; the path of traces is appended. */
  readonly endpoint: string;
  /** Where this server listens. */
  readonly host: string;
  readonly port: number;
  /** Called for each batch that could not be exported. */
  readonly onFailure: () => void;
};

const maxQueuedSpans = 4096;
const maxBatchSpans = 512;
const batchMilliseconds = 1000;
/** The SDK's own limits are 10 and 30 seconds, far longer than a server may take to stop. */
const exportMilliseconds = 5000;
const stopMilliseconds = 3000;
const maxValueLength = 256;

export function openTracing(options: TracingOptions): Tracing & AsyncDisposable {
  const provider = createProvider(options);
  const tracer = provider.getTracer(manifest.name, manifest.version);
  const propagator = new W3CTraceContextPropagator();
  const write = (request: RequestRecord): string | undefined => {
    const described = describeRequest(request, options);
    if (described === undefined) return undefined;
    const { name, attributes, isError } = described;
    const { traceParent, traceState } = request;
    const carrier = { traceparent: traceParent, tracestate: traceState };
    const parent = propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
    const endTime = Date.now();
    const startTime = endTime - request.durationMilliseconds;
    const spanOptions = { kind: SpanKind.SERVER, startTime, attributes };
    const span = tracer.startSpan(name, spanOptions, parent);
    const inside = trace.setSpan(parent, span);
    for (const phase of describePhases(request)) {
      const phaseOptions = { kind: SpanKind.INTERNAL, startTime: startTime + phase.from };
      tracer.startSpan(phase.name, phaseOptions, inside).end(startTime + phase.to);
    }
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
    return span.spanContext().traceId;
  };
  return {
    continueTrace,
    recordRequest(request) {
      try {
        const traceId = write(request);
        return traceId === undefined ? {} : { traceId };
      } catch {
        // A response must not fail because of its trace.
        options.onFailure();
        return {};
      }
    },
    async [Symbol.asyncDispose]() {
      const { promise, resolve } = Promise.withResolvers<void>();
      // A collector that hangs must not keep the server from stopping.
      const timer = setTimeout(resolve, stopMilliseconds);
      await Promise.race([promise, provider.shutdown().catch(() => undefined)]);
      clearTimeout(timer);
    },
  };
}

/** Longer ones are not valid in the only version of the format; a later version may be a little longer. */
const maxParentLength = 128;
const maxStateLength = 512;

/** A repeated or oversized header is ignored, as the specification demands for a value that cannot be parsed. */
const continueTrace: Tracing["continueTrace"] = ({ headers, addLogFields }) => {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string" || traceparent.length > maxParentLength) return;
  const hasState = typeof tracestate === "string" && tracestate.length <= maxStateLength;
  // Neither is on the allow-list of the log.
  addLogFields({ traceParent: traceparent, ...(hasState ? { traceState: tracestate } : {}) });
};

function createProvider({ endpoint, onFailure }: TracingOptions): TracerProvider {
  const own = resourceFromAttributes({ "service.name": "hearth", "service.version": manifest.version });
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/u, "")}/v1/traces`,
    timeoutMillis: exportMilliseconds,
    // When the server stops, all batches are sent at once.
    concurrencyLimit: 1 + maxQueuedSpans / maxBatchSpans,
  });
  return new TracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportFailures(exporter, onFailure),
        maxQueueSize: maxQueuedSpans,
        maxExportBatchSize: maxBatchSpans,
        scheduledDelayMillis: batchMilliseconds,
        exportTimeoutMillis: exportMilliseconds,
      }),
    ],
  });
}

/** The SDK reports failures to a logger of its own only. */
function reportFailures(exporter: SpanExporter, onFailure: () => void): SpanExporter {
  return {
    export: (spans, onResult) =>
      exporter.export(spans, (result) => {
        if (result.error !== undefined) onFailure();
        onResult(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
