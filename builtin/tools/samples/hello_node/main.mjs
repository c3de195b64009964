// Says hello. Parameters come as KIWI_PARAM_* variables, and as one JSON object on standard input.
console.log(`Hello, ${process.env.KIWI_PARAM_NAME}!`)
