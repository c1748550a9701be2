import Glibc
import ProxyTestKit
import Synchronization

/// A site for `save`: its page has what pages do that a copy of its files would not show.
final class SavedSite: Sendable {
    struct Answer: Sendable {
        var status = "200 OK"
        var type = "text/html; charset=utf-8"
        var fields = ""
        var body: String
    }

    private let origin: ScriptedOrigin
    private let log = Mutex<[ScriptedOrigin.Request]>([])

    init() throws {
        let box = Box()
        origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request, isKept: false)
            box.site?.note(request)
            let path = String(request.target.prefix { $0 != "?" })
            if path == "/slow" {
                // Nothing comes until the client goes away.
                _ = try? connection.socket.receive(exactly: 1)
                return false
            }
            // The connection is closed.
            if path == "/cut.svg" { return false }
            let answer = SavedSite.answer(path, request)
            try connection.socket.send(
                "HTTP/1.1 \(answer.status)\r\nContent-Type: \(answer.type)\r\n"
                    + "Content-Length: \(answer.body.utf8.count)\r\n\(answer.fields)\r\n\(answer.body)")
            return true
        }
        box.hold(self)
    }

    private final class Box: Sendable {
        private struct Held { weak var site: SavedSite? }
        private let held = Mutex(Held())
        var site: SavedSite? { held.withLock(\.site) }
        func hold(_ site: SavedSite) { held.withLock { $0.site = site } }
    }

    var port: UInt16 { origin.port }
    func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }
    var requests: [ScriptedOrigin.Request] { log.withLock { $0 } }
    private func note(_ request: ScriptedOrigin.Request) { log.withLock { $0.append(request) } }

    private static func answer(_ path: String, _ request: ScriptedOrigin.Request) -> Answer {
        switch path {
        case "/": page(request)
        case "/start": Answer(status: "302 Found", fields: "Location: /\r\n", body: "")
        case "/app.js": Answer(type: "text/javascript", body: script)
        case "/css/style.css":
            Answer(
                type: "text/css",
                body:
                    "@import 'more.css'; @font-face { font-family: Own; src: url(own.woff2) } body { background: url(ground.svg); font-family: Own, sans-serif }"
            )
        case "/css/own.woff2": Answer(type: "font/woff2", body: "wOF2")
        case "/css/more.css": Answer(type: "text/css", body: "div { background-image: url(../img/div.svg?v=1) }")
        case "/moved.svg": Answer(status: "302 Found", fields: "Location: /img/moved-to.svg\r\n", body: "")
        case "/frame.html":
            Answer(body: "<p>a frame <img src=img/framed.svg><script>document.body.append('made')</script>")
        case "/other.html":
            Answer(body: "<p>another's <img src=img/other.svg><script>document.body.append('made')</script>")
        case "/items": Answer(type: "application/json", body: "{\"name\":\"posted\"}")
        case "/drawn":
            Answer(
                type: "image/svg+xml",
                body: "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='/img/in.svg'/></svg>")
        case "/made-frame":
            Answer(
                body: """
                    <title>Made</title><div id=host></div><script>
                    const frame = document.createElementNS('urn:x', 'iframe');
                    frame.setAttribute('src', '/frame.html'); host.append(frame)</script>
                    """)
        case "/denied":
            Answer(
                body: "<title>Denied</title><iframe src=/denying></iframe><iframe loading=lazy src=/frame.html hidden>")
        case "/denying": Answer(fields: "X-Frame-Options: DENY\r\n", body: "<script>1</script>")
        case "/quirks": Answer(body: "<title>Quirks</title><p>no doctype")
        case "/gate":
            request.field("Cookie") == "in=1"
                ? Answer(fields: "X-In: 1\r\n", body: "<title>In</title><p>in")
                : Answer(status: "403 Forbidden", body: "<script>document.cookie = 'in=1'; location.reload()</script>")
        case "/fonts":
            Answer(
                body: "<title>Fonts</title><img src=http://lh3.googleusercontent.com:"
                    + "\(request.field("Host")?.split(separator: ":").last ?? "")/cut.svg>")
        case "/iconless": Answer(fields: "Content-Security-Policy: img-src 'none'\r\n", body: "<title>None</title><p>x")
        case "/icon-shown": Answer(body: "<title>Shown</title><link rel=stylesheet href=/icon.css>")
        case "/icon.css": Answer(type: "text/css", body: "body { background: url(/favicon.ico) }")
        case "/login":
            request.field("Cookie") == "sid=s3cret" || request.field("X-Key") == "s3cret"
                ? Answer(
                    fields: "Set-Cookie: seen=s3cret; Path=/\r\n",
                    body: "<title>In</title><p>inside<img src=/img/in.svg>")
                : Answer(status: "401 Unauthorized", body: "out")
        case "/frames": Answer(body: "<title>Frames</title><iframe src=http://unknown.invalid/></iframe>")
        case "/styled": Answer(body: "<title>Styled</title><link rel=stylesheet href=/moved.css>")
        case "/digested": Answer(body: digested)
        case "/app":
            Answer(
                fields: "X-App: 1\r\n",
                body: "<title>App</title><p>x<script>history.replaceState(null, '', '/home')</script>")
        case "/moved.css": Answer(status: "302 Found", fields: "Location: /deep/down/real.css\r\n", body: "")
        case "/deep/down/real.css": Answer(type: "text/css", body: "body { background: url(ground.svg) }")
        case "/elsewhere": Answer(body: "<script>onload = () => { location = '/none' }</script>")
        case "/text": Answer(type: "text/plain", body: "just text")
        case "/lacks":
            Answer(body: "<title>Lacks</title><img src=/none.svg><img src=http://unknown.invalid/x.svg>")
        case "/drawings":
            Answer(body: "<title>Drawings</title><iframe src=/active.svg></iframe><object data=/active.svg?o></object>")
        case "/active.svg": Answer(type: "image/svg+xml", body: active)
        case "/twice.svg":
            // It is loaded anew by itself, and is another one then.
            request.field("Cookie") == nil
                ? Answer(
                    type: "image/svg+xml", fields: "Refresh: 0\r\nSet-Cookie: again=1\r\n", body: picture("/twice.svg"))
                : Answer(type: "image/svg+xml", body: active)
        case "/refreshed.svg":
            Answer(type: "image/svg+xml", fields: "Refresh: 9999\r\n", body: picture("/refreshed.svg"))
        case _ where path.hasSuffix(".svg") && path != "/none.svg":
            Answer(type: "image/svg+xml", body: picture(path))
        default: Answer(status: "404 Not Found", type: "text/plain", body: "none")
        }
    }

    /// A page whose style sheet is at the end of a redirect, with the digest of that.
    private static let digested = """
        <title>Digested</title><link rel=stylesheet href=/moved.css crossorigin
        integrity="sha384-8HE+jZ1bTTdm/fDGeXRLwc+7mbIW3WvvAVNOauax2tmOPR1RjzY5FpKOOXmpFU0F"><p>x
        """

    /// A drawing whose script tells that it has run.
    static let active = """
        <svg xmlns='http://www.w3.org/2000/svg' width='60' height='60'><text id='t' y='20'>old</text><script>
        document.getElementById('t').textContent = 'new'; fetch('/ran');</script>
        <a href='javascript:fetch("/ran")' onfocusin='fetch("/ran")'><rect width='9' height='9'/></a></svg>
        """

    /// A picture whose colour its name tells.
    private static func picture(_ path: String) -> String {
        let sum = path.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) % 360 }
        return "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='60'>"
            + "<rect width='60' height='60' fill='hsl(\(sum) 60% 50%)'/></svg>"
    }

    private static func page(_ request: ScriptedOrigin.Request) -> Answer {
        let port = request.field("Host")?.split(separator: ":").last ?? ""
        return Answer(
            fields: "Content-Security-Policy: default-src 'self' 'unsafe-inline' data: blob: http:\r\nETag: \"1\"\r\n",
            body: """
                <!doctype html><html><head><title>Säved “page”</title>
                <meta http-equiv=Content-Security-Policy content="default-src 'self' 'unsafe-inline' data: blob: http:">
                <link rel=stylesheet href=/css/style.css><link rel=preload as=script href=/app.js><base href=/deep/>
                <script src=/app.js></script></head><body onload="document.title += '!'">
                <h1 id=title>Before</h1><noscript>no script</noscript>
                <img srcset="/img/one.svg 1x, /img/two.svg 2x" src=/img/plain.svg>
                <picture><source srcset=/img/source.svg><img src=/img/fallback.svg></picture>
                <img src=/moved.svg><img src=relative.svg>
                <div id=host></div><input id=field><input type=password id=password><textarea id=area></textarea>
                <input type=checkbox id=check><select id=select><option>a<option>b</select>
                <canvas id=canvas width=20 height=20></canvas><span id=blob></span><p id=list></p>
                <iframe src=/frame.html></iframe><iframe src="http://other.test:\(port)/other.html"></iframe>
                <iframe srcdoc="<p>its own<img src=/img/srcdoc.svg>"></iframe>
                <img loading=lazy src=/img/lazy.svg style="display:block;margin-top:3000px">
                <img data-src=/img/data.svg><img id=late data-late=/img/observed.svg width=9 height=9>
                </body></html>
                """)
    }

    private static let script = """
        addEventListener('DOMContentLoaded', async () => {
          const $ = name => document.getElementById(name);
          $('title').textContent = 'Made by script';
          const sheet = document.createElement('style');
          document.head.append(sheet);
          sheet.sheet.insertRule('#title { background: url(/img/rule.svg) }');
          $('host').attachShadow({ mode: 'open' }).innerHTML = '<p>in the shadow<img src=/img/shadow.svg></p>';
          $('field').value = 'typed'; $('password').value = 's3cret'; $('area').value = 'written';
          $('check').checked = true; $('select').selectedIndex = 1;
          const brush = $('canvas').getContext('2d');
          brush.fillStyle = 'lime';
          brush.fillRect(0, 0, 20, 20);
          if ('serviceWorker' in navigator) navigator.serviceWorker.register('/worker.js').catch(() => {});
          new IntersectionObserver(entries => entries.forEach(entry => {
            if (entry.isIntersecting && !entry.target.src) entry.target.src = entry.target.dataset.late;
          })).observe($('late'));
          let grown = 0;
          addEventListener('scroll', () => {
            if (grown < 3 && scrollY + innerHeight > document.documentElement.scrollHeight - 200) {
              const more = document.createElement('div');
              more.style.height = '900px';
              more.innerHTML = 'more ' + ++grown + '<img src=/img/more' + grown + '.svg>';
              document.body.append(more);
            }
          });
          const image = new Image();
          const bytes = await (await fetch('/img/blob.svg')).blob();
          image.src = URL.createObjectURL(new Blob([bytes], { type: 'image/svg+xml' }));
          $('blob').append(image);
          const answer = await fetch('/items', { method: 'POST', body: '{"a":1}' });
          $('list').textContent = (await answer.json()).name;
        });
        """
}
