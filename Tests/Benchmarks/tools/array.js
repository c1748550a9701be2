// An array of rows behind node:http, filtered as json-server filters: what a front end's mock usually is.
// Usage: node array.js PORT ROWS.json
const http = require('node:http')
const fs = require('node:fs')
const rows = JSON.parse(fs.readFileSync(process.argv[3]))

function matches(row, parameters) {
  for (const [name, value] of parameters) {
    if (name === '_') continue
    if (name.endsWith('_gte')) {
      if (!(row[name.slice(0, -4)] >= Number(value))) return false
    } else if (name.endsWith('_lt')) {
      if (!(row[name.slice(0, -3)] < Number(value))) return false
    } else if (String(row[name]) !== value) return false
  }
  return true
}

http.createServer((request, response) => {
  const url = new URL(request.url, 'http://shop.example.test')
  const id = url.pathname.split('/')[2]
  const found = id ? rows.find(row => String(row.id) === id) : rows.filter(row => matches(row, url.searchParams))
  const body = JSON.stringify(found)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1')
