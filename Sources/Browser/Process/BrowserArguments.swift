import Basics

/// The arguments that a browser is started with.
///
/// They are those that Puppeteer and Playwright start theirs with, as far as they keep it from asking for anything that
/// no page asks for, and from behaving otherwise than for a person. Left out are those that change what a page sees
/// (`--enable-automation` makes `navigator.webdriver` true) or that are for other systems.
enum BrowserArguments {
    /// Nothing is asked for that no page asks for.
    static let quiet = [
        "--no-first-run", "--no-default-browser-check", "--no-service-autorun", "--no-pings",
        // Extensions' updates, Safe Browsing, the upgrade detector, translation, metrics.
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
        "--disable-domain-reliability", "--disable-client-side-phishing-detection", "--metrics-recording-only",
        "--disable-breakpad", "--disable-crash-reporter", "--disable-field-trial-config", "--disable-quic",
        "--disable-component-extensions-with-background-pages", "--disable-search-engine-choice-screen",
        "--safebrowsing-disable-auto-update", "--propagate-iph-for-testing",
    ]

    /// A fresh profile needs no keyring, which would ask for a password. In one that a person has logged in with,
    /// cookies are encrypted with what the keyring has; without it they would be lost.
    static let withoutKeyring = ["--password-store=basic", "--use-mock-keychain"]

    /// Nothing waits for a person, and nothing is slower for not being looked at.
    static let driven = [
        "--deny-permission-prompts", "--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-infobars",
        "--disable-extensions", "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
        "--disable-ipc-flooding-protection", "--disable-back-forward-cache", "--mute-audio", "--hide-scrollbars",
        "--force-color-profile=srgb", "--disable-dev-shm-usage", "--disable-gpu",
    ]

    /// A person who looks at a window is not told that options are unusual, above each page: they are this program's.
    static let shown = ["--test-type"]

    /// Features that ask for something of their own, or for another URL than the page's: http would become https, and
    /// a page that comes through a proxy on loopback would have to ask for leave to reach the local network.
    static let disabledFeatures = [
        "AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "DialMediaRouteProvider",
        "GlobalMediaControls", "HttpsFirstBalancedMode", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades",
        "InterestFeedContentSuggestions", "LocalNetworkAccessChecks", "MediaRouter", "NetworkTimeServiceQuerying",
        "OptimizationGuideModelDownloading", "OptimizationHints", "OptimizationHintsFetching", "Prerender2",
        "PrivateNetworkAccessSendPreflights", "SpareRendererForSitePerProcess", "Translate",
    ]

    /// Hosts that Chromium asks by itself all the same, whatever it is told: what it asks of them goes nowhere. No page
    /// needs them. The accounts' server, which pages may need, is another one for the browser itself.
    static let ownHosts = [
        accounts, "update.googleapis.com", "connectivitycheck.gstatic.com", "optimizationguide-pa.googleapis.com",
        "safebrowsing.googleapis.com", "safebrowsingohttpgateway.googleapis.com", "content-autofill.googleapis.com",
        "redirector.gvt1.com", "edgedl.me.gvt1.com", "mtalk.google.com", "clients2.google.com",
        "clientservices.googleapis.com",
    ]
    private static let accounts = "accounts.invalid"

    /// What passes the proxy by. The first takes away what is there without a list: requests to loopback.
    static let bypassed = (["<-loopback>"] + ownHosts).joined(separator: ";")

    /// - Parameters:
    ///   - profile: the folder of the profile.
    ///   - cache: a folder for the browser's cache, where a person's profile has one: what comes from that would not
    ///     pass the proxy. Nil, the default, for the profile's.
    static func list(for options: BrowserOptions, profile: String, cache: String? = nil) -> [String] {
        var list = quiet + (options.userDataFolder == nil ? withoutKeyring : [])
        list.append("--disable-features=" + disabledFeatures.joined(separator: ","))
        list += ["--gaia-url=http://\(accounts)/", "--user-data-dir=" + profile]
        if let cache { list.append("--disk-cache-dir=" + cache) }
        if options.isHeadless {
            list += driven
            list += ["--headless=new", "--remote-debugging-pipe"]
        } else {
            list += shown
        }
        list.append("--window-size=\(options.viewport.width),\(options.viewport.height)")
        if options.hasNoSandbox { list.append("--no-sandbox") }
        if let agent = options.userAgent { list.append("--user-agent=" + agent) }
        list += ways(through: options.proxy)
        // Nothing behind the dashes is a switch, whatever it begins with.
        list += options.isHeadless ? ["about:blank"] : ["--", options.startPage]
        return list
    }

    private static func ways(through proxy: BrowserOptions.Proxy?) -> [String] {
        guard let proxy else {
            let rules = ownHosts.map { "MAP \($0) ~NOTFOUND" }
            return ["--no-proxy-server", "--host-resolver-rules=" + rules.joined(separator: ", ")]
        }
        var list = [
            "--proxy-server=http://" + proxy.address,
            "--proxy-bypass-list=" + bypassed,
            // What passes it by finds no address: those hosts, prefetched names, peers of WebRTC.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE " + host(of: proxy.address),
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        ]
        // It counts only beside --user-data-dir, which is always given.
        if !proxy.trustedKeys.isEmpty {
            let keys = proxy.trustedKeys.map { Base64.text($0) }
            list.append("--ignore-certificate-errors-spki-list=" + keys.joined(separator: ","))
        }
        return list
    }

    private static func host(of address: String) -> Substring {
        guard let colon = address.lastIndex(of: ":") else { return address[...] }
        return address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
    }
}
