"""What a hostile page can try in order to reach an address that it may not. `{url}` is that address, `{port}` its port.

Attacks within a page stand in `SUBRESOURCES`, those that leave it in `NAVIGATIONS`. `{me}` is the attacked page's own
server, which serves the names in `FILES`.
"""

SUBRESOURCES = {
    "image": "<img src='{url}'>",
    "picture": "<picture><source srcset='{url}'><img></picture>",
    "frame in srcdoc": "<iframe srcdoc=\"<img src='{url}'>\"></iframe>",
    "sandboxed frame": "<iframe sandbox src='{url}'></iframe>",
    "frame in a data address": "<iframe src=\"data:text/html,<img src='{url}'>\"></iframe>",
    "object": "<object data='{url}'></object>",
    "embed": "<embed src='{url}'>",
    "video": "<video src='{url}' autoplay muted></video>",
    "poster": "<video poster='{url}'></video>",
    "stylesheet": "<link rel=stylesheet href='{url}'>",
    "imported style": "<style>@import '{url}';</style>",
    "background": "<div style=\"background: url('{url}')\">x</div>",
    "font": "<style>@font-face {{ font-family: f; src: url('{url}') }}</style><p style='font-family: f'>x</p>",
    "script tag": "<script src='{url}'></script>",
    "module": "<script type=module>import '{url}'</script>",
    "preload": "<link rel=preload as=script href='{url}'>",
    "prefetch": "<link rel=prefetch href='{url}'>",
    "modulepreload": "<link rel=modulepreload href='{url}'>",
    "svg": "<svg><image href='{url}'/></svg>",
    "fetch": "<script>fetch('{url}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "kept fetch": "<script>fetch('{url}', {{mode: 'no-cors', keepalive: true}}).catch(() => 0)</script>",
    "redirected fetch": "<script>fetch('{me}/_to?there={url}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "xhr": "<script>{{ const x = new XMLHttpRequest(); x.open('GET', '{url}'); x.send() }}</script>",
    "events": "<script>new EventSource('{url}')</script>",
    "beacon": "<script>navigator.sendBeacon('{url}', 'x')</script>",
    "websocket": "<script>new WebSocket('ws://{host}:{port}/')</script>",
    "secure websocket": "<script>new WebSocket('wss://{host}:{port}/')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('{url}', {{mode: 'no-cors'}})`])))</script>",
    "imported by a worker": "<script>new Worker(URL.createObjectURL(new Blob([`importScripts('{url}')`])))</script>",
    "websocket of a worker": """<script>new Worker(URL.createObjectURL(new Blob(
        [`new WebSocket('ws://{host}:{port}/')`])))</script>""",
    "worker of a worker": """<script>new Worker(URL.createObjectURL(new Blob(
        ["new Worker(URL.createObjectURL(new Blob([`fetch('{url}', {{mode: 'no-cors'}})`])))"])))</script>""",
    "module of a worker": """<script>new Worker(URL.createObjectURL(new Blob(
        [`import('{url}').catch(() => 0)`], {{type: 'text/javascript'}})), {{type: 'module'}})</script>""",
    "worker of a sandboxed frame": """<iframe sandbox='allow-scripts' srcdoc="<script>new Worker(URL.createObjectURL(
        new Blob([`fetch('{url}', {{mode: 'no-cors'}})`])))</script>"></iframe>""",
    "shared worker": "<script>new SharedWorker('{me}/_script?fetch={url}')</script>",
    "service worker": "<script>navigator.serviceWorker.register('{me}/_script?fetch={url}')</script>",
    "worklet": "<script>CSS.paintWorklet.addModule('{url}').catch(() => 0)</script>",
    "form in a frame": """<iframe name=f></iframe><form id=one target=f action='{url}'></form>
        <script>one.submit()</script>""",
    "speculation": '<script type=speculationrules>{{"prefetch": [{{"source": "list", "urls": ["{url}"]}}]}}</script>',
    "stun": """<script>{{ const p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
        p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)) }}</script>""",
    "turn by udp": """<script>{{ const p = new RTCPeerConnection({{iceServers: [
        {{urls: 'turn:127.0.0.1:{port}?transport=udp', username: 'u', credential: 'c'}}]}});
        p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)) }}</script>""",
    "turn by tcp": """<script>{{ const p = new RTCPeerConnection({{iceServers: [
        {{urls: 'turn:127.0.0.1:{port}?transport=tcp', username: 'u', credential: 'c'}}]}});
        p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)) }}</script>""",
    "turn by tls": """<script>{{ const p = new RTCPeerConnection({{iceServers: [
        {{urls: 'turns:127.0.0.1:{port}?transport=tcp', username: 'u', credential: 'c'}}]}});
        p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)) }}</script>""",
    "ice candidate": """<script>(async () => {{ const a = new RTCPeerConnection(), b = new RTCPeerConnection();
        a.createDataChannel('x'); await a.setLocalDescription(await a.createOffer());
        await b.setRemoteDescription(a.localDescription); await b.setLocalDescription(await b.createAnswer());
        await a.setRemoteDescription(b.localDescription);
        for (const kind of ['udp 2122260223 127.0.0.1 {port} typ host',
                            'tcp 1518280447 127.0.0.1 {port} typ host tcptype passive'])
            a.addIceCandidate({{candidate: `candidate:1 1 ${{kind}}`, sdpMid: '0', sdpMLineIndex: 0}}).catch(() => 0);
        }})()</script>""",
    "webtransport": "<script>new WebTransport('https://{host}:{port}/').ready.catch(() => 0)</script>",
    "identity provider": """<script>try {{ navigator.credentials.get({{identity: {{providers: [
        {{configURL: 'https://127.0.0.1:{port}/x.json', clientId: '1'}}]}}}}).catch(() => 0) }} catch {{}}</script>""",
    "decimal address": "<img src='http://2130706433:{port}/'>",
    "hexadecimal address": "<img src='http://0x7f000001:{port}/'>",
    "octal address": "<img src='http://0177.0.0.1:{port}/'>",
    "short address": "<img src='http://127.1:{port}/'>",
    "mapped address": "<img src='http://[::ffff:127.0.0.1]:{port}/'>",
    "this network": "<img src='http://0.0.0.0:{port}/'>",
    "trailing dot": "<img src='http://localhost.:{port}/'>",
    "wide digits": "<img src='http://１２７.０.０.１:{port}/'>",
    "other loopback name": "<img src='http://anything.localhost:{port}/'>",
}

HEADERS = {  # served with a page; the browser itself reports to whom they name
    "refresh header": ("Refresh", "0;url={url}"),
    "link header": ("Link", "<{url}>; rel=preload; as=image"),
    "report of a policy": ("Content-Security-Policy", "img-src 'none'; report-uri {url}"),
}

NAVIGATIONS = {
    "redirect": "<script>location = '{me}/_to?there={url}'</script>",
    "script": "<script>location = '{url}'</script>",
    "refresh": "<meta http-equiv=refresh content='0;url={url}'>",
    "form": "<form action='{url}' method=post></form><script>document.forms[0].submit()</script>",
    "new tab": "<a href='{url}' target=_blank>Press</a>",
    "opened tab": "<button onclick=\"window.open('{url}')\">Press</button>",
    "late opened tab": "<button onclick=\"const w = window.open(); w.location = '{url}'\">Press</button>",
    "ping": "<a href='{me}/fine' ping='{url}'>Press</a>",
    "download": "<a href='{url}' download=x.bin>Press</a>",
    "button's own address": "<form><button formaction='{url}'>Press</button></form>",
    "user before the host": "<script>location = 'http://127.0.0.1@127.0.0.2:{port}/'</script>",
    "print": "<style media=print>@import '{url}'; body {{ background: url('{url}') }}</style><script>print()</script>",
    "unload": """<script>addEventListener('pagehide', () => navigator.sendBeacon('{url}', 'x'));
        location = '{me}/fine'</script>""",
}
