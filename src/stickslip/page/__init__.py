"""The live page: a small server on the loopback interface, and one HTML file that draws with canvas and WebGL.

controls    the sliders of a library entry, and what they may be set to
tracks      a drawing over time as shapes that are sent once and numbers that move them
payload     everything the page shows of a run, as plain values
service     requests in, payloads out; bounded, one run at a time
document    the HTML file, put together from `assets`, empty or with a run inside
server      HTTP on 127.0.0.1
"""
