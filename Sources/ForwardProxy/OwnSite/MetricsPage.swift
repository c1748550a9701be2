import Files
import HTTPCaching
import NIOCore
import Substitution
import Synchronization

extension LoopContext {
    /// Prometheus's metrics of this proxy.
    func metricsPage() -> EventLoopFuture<OwnPage> {
        proxyMetrics().assumeIsolated().map { [self] in proxy.page($0, map) }.nonisolated()
    }
}

extension ProxyCore {
    /// The page's text. Label values come from closed sets: none is a host, a URL, a client or a user.
    ///
    /// - Parameter map: the map in force.
    fileprivate func page(_ metrics: ProxyMetrics, _ map: SubstitutionMap) -> OwnPage {
        var writer = MetricsWriter()
        writer.family("subproxy_build_info", .gauge, "The version that runs; the value is 1.")
        writer.sample("subproxy_build_info", [("version", configuration.version)], 1)
        writeExchanges(metrics.exchanges, to: &writer)
        writeConnections(metrics.loops, to: &writer)
        writeFiles(to: &writer)
        writeStore(to: &writer)
        writer.single("subproxy_map_rules", .gauge, "Rules of the map in force.", map.ruleCount)
        writeArchives(metrics.exchanges, map, to: &writer)
        writeReloads(to: &writer)
        writeLogs(to: &writer)
        access.map { $0.writeMetrics(to: &writer) }
        writeProcess(metrics.process, to: &writer)
        return OwnPage(type: MetricsWriter.mediaType, body: writer.buffer)
    }

    private func writeExchanges(_ exchanges: ExchangeMetrics, to writer: inout MetricsWriter) {
        let outcomes = Outcome.allCases.map { (outcome: $0, label: ("outcome", "\($0.name)") as MetricsWriter.Label) }
        writer.family(
            "subproxy_exchanges_total", .counter, "Finished exchanges, by outcome and class of status.")
        for (outcome, label) in outcomes {
            for (name, count) in zip(ExchangeMetrics.classNames, exchanges.byStatus(outcome)) {
                writer.sample("subproxy_exchanges_total", [label, ("class", "\(name)")], count)
            }
        }
        writer.family(
            "subproxy_exchange_duration_seconds", .histogram,
            "Time from the end of a request's head to the end of its response or tunnel, by outcome.")
        let bounds = DurationBuckets.bounds.indices.map { DurationBuckets.bounds[$0] }
        for (outcome, label) in outcomes {
            writer.histogram(
                "subproxy_exchange_duration_seconds", [label], buckets: exchanges.durations(outcome), bounds: bounds,
                nanoseconds: exchanges.nanoseconds(outcome))
        }
        writer.family(
            "subproxy_response_body_bytes_total", .counter,
            "Bytes of response bodies sent to clients, by outcome; those of a tunnel are added when it ends.")
        for (outcome, label) in outcomes {
            writer.sample("subproxy_response_body_bytes_total", [label], exchanges.bodyBytes(outcome))
        }
        writer.single(
            "subproxy_request_body_bytes_total", .counter,
            "Bytes of request bodies read from clients; those of a tunnel are added when it ends.",
            exchanges.receivedBytes)
    }

    private func writeArchives(_ exchanges: ExchangeMetrics, _ map: SubstitutionMap, to writer: inout MetricsWriter) {
        writer.single(
            "subproxy_archive_entries", .gauge, "Entries of archives in force that can answer.", map.entryCounts.usable)
        writer.family(
            "subproxy_archive_answers_total", .counter, "Answers from archives, by how the entry was found.")
        for (index, how) in ["exact", "tolerant", "nearest"].enumerated() {
            writer.sample("subproxy_archive_answers_total", [("how", how)], exchanges.archiveAnswers[index])
        }
        writer.single(
            "subproxy_archive_misses_total", .counter, "Requests for hosts of archives that have no entry for them.",
            exchanges.archiveMisses)
    }

    private func writeConnections(_ loops: [LoopMetrics], to writer: inout MetricsWriter) {
        writer.family("subproxy_connections", .gauge, "Client connections, by state.")
        for activity in ConnectionActivity.allCases {
            let count = loops.reduce(0) { $0 &+ $1.connections[activity.rawValue] }
            writer.sample("subproxy_connections", [("state", "\(activity.name)")], count)
        }
        writer.single(
            "subproxy_connections_accepted_total", .counter, "Client connections accepted.",
            counters.accepted.load(ordering: .relaxed))
        writer.single(
            "subproxy_connections_refused_total", .counter,
            "Client connections that were closed at once because too many were open.",
            counters.refused.load(ordering: .relaxed))
        writer.single(
            "subproxy_connections_max", .gauge, "Client connections that may be open at once (--max-connections).",
            configuration.limits.connections)
        writer.family("subproxy_transfers", .gauge, "Transfers from origins, by state.")
        for stage in TransferStage.allCases {
            let count = loops.reduce(0) { $0 &+ $1.transfers.byStage[stage.rawValue] }
            writer.sample("subproxy_transfers", [("state", "\(stage.name)")], count)
        }
        writer.family(
            "subproxy_event_loop_lag_seconds", .gauge,
            "How late an event loop ran what was due: the largest delay of the last 15 to 30 seconds.")
        for (index, loop) in loops.enumerated() {
            writer.sample(
                "subproxy_event_loop_lag_seconds", [("loop", "\(index)")], MetricsWriter.seconds(loop.lag))
        }
    }

    private func writeFiles(to writer: inout MetricsWriter) {
        let files = files.statistics
        writer.single("subproxy_retained_files", .gauge, "Mapped files in memory.", files.entries)
        writer.single("subproxy_retained_bytes", .gauge, "Memory that mapped files take.", files.bytes)
        writer.single(
            "subproxy_retained_bytes_max", .gauge, "Memory that mapped files may take (--retain-memory).",
            configuration.retention.memory)
        writer.single(
            "subproxy_retained_evictions_total", .counter, "Mapped files dropped from memory to make room.",
            files.evictions)
        writer.single(
            "subproxy_retained_loads_total", .counter, "Mapped files read from disk into memory.", files.loads)
    }

    private func writeStore(to writer: inout MetricsWriter) {
        guard let store = cache?.store.statistics else { return }
        writer.single("subproxy_stored_responses", .gauge, "Stored responses.", store.entries)
        writer.single("subproxy_stored_bytes", .gauge, "Memory that stored responses take.", store.bytes)
        writer.single(
            "subproxy_stored_bytes_max", .gauge, "Memory that stored responses may take (--cache-memory).",
            configuration.cache.memory)
        writer.single(
            "subproxy_stored_evictions_total", .counter, "Stored responses dropped to make room.",
            store.evictions)
    }

    private func writeReloads(to writer: inout MetricsWriter) {
        writer.family(
            "subproxy_reloads_total", .counter, "Reloads of files, by subject and result.")
        for (subject, metrics) in counters.reloads {
            for (result, count) in [("success", metrics.successes), ("failure", metrics.failures)] {
                writer.sample(
                    "subproxy_reloads_total", [("subject", subject.rawValue), ("result", result)], count)
            }
        }
    }

    private func writeLogs(to writer: inout MetricsWriter) {
        writer.family(
            "subproxy_log_lines_dropped_total", .counter,
            "Log lines dropped because they could not be written, or not fast enough.")
        writer.sample("subproxy_log_lines_dropped_total", [("log", "access")], logSink.droppedLines)
        guard let messages = configuration.messageSink else { return }
        writer.sample("subproxy_log_lines_dropped_total", [("log", "messages")], messages.droppedLines)
    }

    private func writeProcess(_ process: ProcessMetrics, to writer: inout MetricsWriter) {
        writer.single(
            "process_cpu_seconds_total", .counter, "Processor time used, user and system.",
            nanoseconds: process.processorNanoseconds)
        if let bytes = process.residentBytes {
            writer.single("process_resident_memory_bytes", .gauge, "Resident memory.", bytes)
        }
        if let bytes = process.virtualBytes {
            writer.single("process_virtual_memory_bytes", .gauge, "Virtual memory.", bytes)
        }
        if let count = process.openDescriptors {
            writer.single("process_open_fds", .gauge, "Open file descriptors.", count)
        }
        if let count = process.maximumDescriptors {
            writer.single("process_max_fds", .gauge, "File descriptors that may be open.", count)
        }
        if let start = process.startedAt {
            writer.single(
                "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.",
                nanoseconds: start)
        }
    }
}
