extension FreezeScript {
    /// The part of the script that writes blobs out, which are gone with the page.
    static let blobs =
        #"""
        const mediaType = text => /^[a-z0-9!#$^_.+-]+\/[a-z0-9!#$^_.+;= -]+$/i.test(text) ? text : 'application/octet-stream';
        const blobURL = /blob:(?:null|[a-z][a-z0-9+.-]*:\/\/[^\s"'()<>&\/]+)\/[0-9a-f]{8}-[0-9a-f-]{27}/gi;
        const loadedImage = url => new Promise(resolve => {
          const image = new Image();
          image.src = url;
          const end = () => resolve(image.complete && image.naturalWidth > 0 ? image : null);
          image.decode().then(end, end);
        });
        const blobData = async (url, depth) => {
          try {
            let blob = await (await fetch(url)).blob();
            if (blob.size > largestBlob) return null;
            // A style sheet or a drawing may name others.
            if (/^text\/css|^image\/svg\+xml/i.test(blob.type) && depth < deepestBlob)
              blob = new Blob([await withoutBlobs(await blob.text(), depth + 1)], { type: blob.type });
            const bytes = new Uint8Array(await blob.arrayBuffer());
            let binary = '';
            for (let at = 0; at < bytes.length; at += 0x8000)
              binary += String.fromCharCode.apply(null, bytes.subarray(at, at + 0x8000));
            return `data:${mediaType(blob.type).replaceAll(' ', '')};base64,${btoa(binary)}`;
          } catch {
            // It is gone, or a policy of the page's lets nobody fetch what may be shown (CSP, connect-src).
            const image = blobImages.get(url) ?? await loadedImage(url);
            return image && pictureOf(image);
          }
        };
        const withoutBlobs = async (text, depth) => {
          const data = new Map();
          for (const url of new Set(text.match(blobURL) ?? [])) data.set(url, await blobData(url, depth));
          return text.replace(blobURL, url => data.get(url) ?? url);
        };
        // What objects show of blobs that are no documents, such as pictures: these have no frame of their own.
        const readObjects = async () => {
          for (const element of allOf('object', 'embed')) {
            const url = absolute(attribute(element, localName(element) === 'object' ? 'data' : 'src') ?? '');
            if (!/^blob:/i.test(url) || objectData.has(url)) continue;
            const data = await blobData(url, 0);
            if (data && !isInnerDocument(data)) objectData.set(url, data);
          }
        };
        const finished = async text => (await withoutBlobs(text, 0)).toWellFormed();
        """#
}
