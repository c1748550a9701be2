import Foundation
import ProxyTestKit
import Testing

extension InBrowsers {
    /// A browser with the proxy set: the page is the origin's, what the map names is the map's.
    @Suite("Chromium", .program(InstalledProgram.chromium, of: "chromium"))
    struct Chromium {
        /// What the page was like after one of the loads.
        struct Load: Decodable {
            struct Response: Decodable {
                var status: Int
                var cacheStatus: String
                var isCached: Bool
                var httpVersion: String
            }

            var script: String
            var image: [Int]
            var fontIsLoaded: Bool
            var textWidth: Double
            var responses: [String: Response]
        }

        struct Loads: Decodable {
            var visit: Load
            var reload: Load
            var hardReload: Load
        }

        static let page = """
            <!doctype html><meta charset=utf-8><title>Substitution</title>
            <style>
              @font-face { font-family: Wide; src: url(wide.ttf) }
              #text { font: 20px Wide; white-space: nowrap }
              img { image-rendering: pixelated; width: 160px; height: 120px; display: block; margin: 12px 0 }
            </style>
            <p id=script>no script</p>
            <img id=image src=image.png>
            <span id=text>abcdefghij</span>
            <script src=code.js></script>
            """

        static let script = "document.getElementById('script').textContent = 'substituted script'\n"

        /// Writes images and fonts: the origin's image is 10 × 10 and red, its font half an em wide; the map's 64 × 48
        /// and green, two ems.
        static func makeFiles(in path: String) throws {
            func write(_ arguments: String...) throws {
                let process = try ChildProcess.run(["python3", "-B", "\(scripts)/pagefiles.py"] + arguments)
                try #require(process.status == 0, "\(process.error)")
            }
            try write("image", "\(path)/origin.png", "10", "10", "200", "0", "0")
            try write("image", "\(path)/sub.png", "64", "48", "0", "160", "0")
            try write("font", "\(path)/origin.ttf", "500")
            try write("font", "\(path)/sub.ttf", "2000")
        }

        private let folder: TemporaryFolder
        private let origin: ScriptedOrigin

        init() throws {
            folder = TemporaryFolder()
            let path = folder.path
            try Chromium.makeFiles(in: path)
            try folder.write("sub.js", Chromium.script)
            let files = [
                "/": ("text/html", Array(Chromium.page.utf8)),
                "/image.png": ("image/png", try Array(Data(contentsOf: URL(filePath: "\(path)/origin.png")))),
                "/wide.ttf": ("font/ttf", try Array(Data(contentsOf: URL(filePath: "\(path)/origin.ttf")))),
                "/code.js": (
                    "text/javascript", Array("document.getElementById('script').textContent = 'origin script'".utf8)
                ),
            ]
            origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                let (status, type, body) =
                    files[request.target].map { ("200 OK", $0.0, $0.1) } ?? ("404 Not Found", "text/plain", [])
                try connection.socket.send(
                    "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.socket.send(body)
                return true
            }
            let base = "http://127.0.0.1:\(origin.port)"
            try folder.write(
                "m.yaml",
                ServedMap.text("\(base)/image.png: sub.png\n\(base)/code.js: sub.js\n\(base)/wide.ttf: sub.ttf"))
        }

        @Test("A page shows the map's image, script and font, also after a reload; a hard reload shows the origin's")
        func page() throws {
            let binary = try RunningBinary(map: "\(folder.path)/m.yaml")
            // Screenshots stay where SUBPROXY_SCREENSHOTS says, to be looked at.
            let screenshots = ProcessInfo.processInfo.environment["SUBPROXY_SCREENSHOTS"] ?? folder.path
            let browser = try ChildProcess.run(
                [
                    "python3", "-B", "\(scripts)/chromium.py", "--chromium", InstalledProgram.chromium, "--proxy",
                    "127.0.0.1:\(binary.port)", "--profile", "\(folder.path)/profile", "--page",
                    "http://127.0.0.1:\(origin.port)/", "--screenshots", screenshots,
                ], environment: ["http_proxy": "", "https_proxy": "", "no_proxy": ""])
            try #require(browser.status == 0, "\(browser.error)")
            let loads = try JSONDecoder().decode(Loads.self, from: Data(browser.outputBytes))
            for load in [loads.visit, loads.reload] {
                #expect(load.script == "substituted script")
                #expect(load.image == [64, 48])
                #expect(load.fontIsLoaded)
                #expect(abs(load.textWidth - 400) < 1)
                for name in ["image.png", "code.js", "wide.ttf"] {
                    #expect(load.responses[name]?.cacheStatus.hasPrefix("subproxy; hit; detail=\"m.yaml:") == true)
                }
                #expect(load.responses[""]?.cacheStatus == "subproxy; fwd=uri-miss")
            }
            #expect(loads.hardReload.script == "origin script")
            #expect(loads.hardReload.image == [10, 10])
            #expect(loads.hardReload.fontIsLoaded)
            #expect(abs(loads.hardReload.textWidth - 100) < 1)
            for name in ["image.png", "code.js", "wide.ttf"] {
                #expect(
                    loads.hardReload.responses[name]?.cacheStatus.hasPrefix(
                        "subproxy; fwd=request; detail=\"no-cache m.yaml:") == true)
            }
            #expect(binary.process.status == nil)
        }
    }
}
