//! How much is found in languages beyond English: short talks made for this test, with questions that use other forms of the words.

use threadkeep_recall::{Builder, Filter, Index, NewDoc, Query};

/// Messages of a talk, and questions each with the place of the message that answers it.
type Talk = (&'static str, &'static [&'static str], &'static [(&'static str, u64)]);

const TALKS: [Talk; 6] = [
    (
        "German",
        &[
            "Hast du den Schlüssel für die Werkstatt gefunden?",
            "Ja, er lag unter der blauen Kiste neben den Fahrrädern.",
            "Am Samstag fahren wir mit den Kindern an den See.",
            "Meine Schwester hat sich einen kleinen Hund aus dem Tierheim geholt.",
            "Der Zahnarzt hat den Termin auf Donnerstag verschoben.",
            "Wir haben die Küche grün gestrichen, und die Häuser gegenüber sind jetzt gelb.",
            "Im Winter lerne ich Klavier, weil mein Großvater auch gespielt hat.",
            "Das Rezept braucht drei Eier und etwas Zimt.",
        ],
        &[
            ("Wo lag der Schlüssel?", 1),
            ("Wohin fahren wir mit dem Kind?", 2),
            ("Woher ist der Hund der Schwester?", 3),
            ("Wann ist der Zahnarzttermin? Der Zahnarzt hat ihn verschoben", 4),
            ("Welche Farbe hat das Haus gegenüber?", 5),
            ("Warum lernt sie Klavier?", 6),
            ("Wie viele Eier braucht das Rezept?", 7),
        ],
    ),
    (
        "Spanish",
        &[
            "¿Dónde dejaste las llaves del taller?",
            "Están debajo de la caja azul, junto a las bicicletas.",
            "El sábado vamos con los niños al lago.",
            "Mi hermana adoptó un perro pequeño del refugio.",
            "El dentista cambió la cita al jueves.",
            "Pintamos la cocina de verde y las casas de enfrente son amarillas.",
            "En invierno aprendo piano porque mi abuelo también tocaba.",
            "La receta lleva tres huevos y un poco de canela.",
        ],
        &[
            ("¿Dónde está la llave del taller?", 1),
            ("¿Adónde vamos con el niño el sábado?", 2),
            ("¿De dónde es el perro que adoptaron?", 3),
            ("¿Cuándo es la cita con el dentista?", 4),
            ("¿De qué color es la casa de enfrente?", 5),
            ("¿Por qué aprende a tocar el piano?", 6),
            ("¿Cuántos huevos lleva la receta?", 7),
        ],
    ),
    (
        "French",
        &[
            "Où as-tu mis les clés de l'atelier ?",
            "Elles sont sous la caisse bleue, à côté des vélos.",
            "Samedi, nous allons au lac avec les enfants.",
            "Ma sœur a adopté un petit chien du refuge.",
            "Le dentiste a déplacé le rendez-vous à jeudi.",
            "Nous avons peint la cuisine en vert, et les maisons d'en face sont jaunes.",
            "En hiver j'apprends le piano, parce que mon grand-père jouait aussi.",
            "La recette demande trois œufs et un peu de cannelle.",
        ],
        &[
            ("Où est la clé de l'atelier ?", 1),
            ("Où allons-nous samedi avec l'enfant ?", 2),
            ("D'où vient le chien adopté ?", 3),
            ("Quand est le rendez-vous chez le dentiste ?", 4),
            ("De quelle couleur est la maison d'en face ?", 5),
            ("Pourquoi apprend-elle le piano ?", 6),
            ("Combien d'œufs demande la recette ?", 7),
        ],
    ),
    (
        "Russian",
        &[
            "Куда ты положил ключи от мастерской?",
            "Они под синим ящиком рядом с велосипедами.",
            "В субботу мы едем с детьми на озеро.",
            "Моя сестра взяла маленькую собаку из приюта.",
            "Стоматолог перенёс приём на четверг.",
            "Мы покрасили кухню в зелёный, а дома напротив теперь жёлтые.",
            "Зимой я учусь играть на пианино, потому что дедушка тоже играл.",
            "Для рецепта нужны три яйца и немного корицы.",
        ],
        &[
            ("Где ключ от мастерской?", 1),
            ("Куда мы едем в субботу?", 2),
            ("Откуда собака сестры?", 3),
            ("Когда приём у стоматолога?", 4),
            ("Какого цвета дом напротив?", 5),
            ("Почему она играет на пианино?", 6),
            ("Сколько яиц нужно для рецепта, и есть ли корица?", 7),
        ],
    ),
    (
        "Chinese",
        &[
            "你把车间的钥匙放在哪里了？",
            "在蓝色箱子下面，自行车旁边。",
            "星期六我们带孩子去湖边。",
            "我姐姐从收容所领养了一只小狗。",
            "牙医把预约改到了星期四。",
            "我们把厨房刷成了绿色，对面的房子现在是黄色的。",
            "冬天我学钢琴，因为爷爷以前也弹。",
            "这个食谱需要三个鸡蛋和一点肉桂。",
        ],
        &[
            ("车间的钥匙在哪里", 1),
            ("星期六带孩子去哪里", 2),
            ("姐姐的小狗是哪里领养的", 3),
            ("牙医预约是什么时候", 4),
            ("对面的房子是什么颜色", 5),
            ("为什么学钢琴", 6),
            ("食谱要几个鸡蛋", 7),
        ],
    ),
    (
        "Japanese",
        &[
            "作業場の鍵はどこに置きましたか。",
            "青い箱の下、自転車の横にあります。",
            "土曜日に子供たちと湖へ行きます。",
            "姉は保護施設から小さな犬を引き取りました。",
            "歯医者の予約は木曜日に変わりました。",
            "台所を緑に塗りました。向かいの家は黄色です。",
            "冬にピアノを習います。祖父も弾いていました。",
            "このレシピには卵が三つとシナモンが要ります。",
        ],
        &[
            ("作業場の鍵はどこ", 1),
            ("土曜日に子供とどこへ行く", 2),
            ("姉の小さな犬はどこから", 3),
            ("歯医者の予約はいつ", 4),
            ("向かいの家は何色", 5),
            ("なぜピアノを習う", 6),
            ("レシピに卵はいくつ", 7),
        ],
    ),
];

#[test]
fn answers_are_found_in_six_languages() {
    for (language, texts, questions) in TALKS {
        let mut builder = Builder::default();
        for (seq, text) in (0u64..).zip(texts) {
            let before = seq.checked_sub(1).map(|seq| (seq, 0));
            builder.add(&NewDoc { owner: "t", seq, index: 0, role: 1, kind: 0, time: 0, before, text, names: &[] });
        }
        let index = Index::of(vec![builder.finish()]);
        for (question, answer) in questions {
            let found = index.find(&Query::parse(question), &Filter::default(), 2);
            let found: Vec<u64> = found.iter().map(|found| found.doc.seq).collect();
            assert!(found.contains(answer), "{language}, {question}: {found:?} instead of {answer}");
        }
    }
}
